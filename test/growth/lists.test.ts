import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { verifyLedger } from '../../src/ledger/index.ts'
import { plansOf } from '../harness/rows-read.ts'
import { everyStore } from '../ledger/stores.ts'
import { costOf } from './blocks.ts'
import { growStore } from './large-store.ts'
import { lists, reads } from './lists.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

/** Both sizes are above the limit for exact totals. */
const sizes = { small: 10_500, large: 31_500 }
const allowedGrowth = 1.5
/** Blocks of a deeper index, and of a few more rows with a rare status. */
const slack = 40

/** Each has few columns, so that equal keys share an entry. */
const indexesOfTotals = {
  'flows of a wallet, by direction': 'ledger_entries_flows',
  'transfers of a workspace, failed': 'orders_own_total',
  'transfers that an operator approves, of one workspace': 'orders_received_total',
  'transfers that an operator approves': 'orders_status_total',
  'recharges of all workspaces, newest': 'orders_total',
  'recharges of all workspaces, by last change': 'orders_total',
  'accounts, suspended': 'accounts_status_total',
  'accounts, of operators': 'accounts_operators_total',
  'workspaces, of sandboxes': 'workspaces_kind_total',
  'workspaces, frozen': 'workspaces_frozen_total',
}
/** In the larger store. A search looks up only the parts of a text that few rows have. Open orders are not all sorted. */
const mostBlocks = {
  'accounts, search by address': 60,
  'workspaces, search by name': 60,
  'recharges of all workspaces, expired': 200,
  'recharges of all workspaces, by last change': 250,
}

describe.each(stores)('lists of a growing store on $name', ({ name, database }) => {
  const hasTrigrams = name !== 'PGlite'
  const measured = new Map<string, number[]>()
  const measure = async (last: number): Promise<void> => {
    for (const { name: list, read } of lists) {
      const { blocks, result } = await costOf(database, read)
      expect(result.items.length, list).toBeGreaterThan(0)
      measured.set(list, [...(measured.get(list) ?? []), blocks])
    }
    for (const [read, work] of Object.entries(reads))
      measured.set(read, [...(measured.get(read) ?? []), (await costOf(database, (tx) => work(tx, last))).blocks])
  }

  beforeAll(async () => {
    await growStore(database, { first: 0, last: sizes.small })
    await measure(sizes.small)
    await growStore(database, { first: sizes.small + 1, last: sizes.large })
    await measure(sizes.large)
  }, 600_000)

  const steady = lists.filter(({ needsTrigrams }) => hasTrigrams || !needsTrigrams).map((list) => list.name)

  const plans = (name: string): Promise<string> =>
    plansOf(database, async (watched) => {
      await lists.find((list) => list.name === name)?.read(watched)
      await reads[name]?.(watched, sizes.large)
    })

  test.each([...steady, ...Object.keys(reads)])('%s: the blocks read do not grow with the store', async (list) => {
    const [few = Number.NaN, many = Number.NaN] = measured.get(list) ?? []
    const bound = few * allowedGrowth + slack
    expect(few).toBeGreaterThan(0)
    expect(many, many > bound ? await plans(list) : list).toBeLessThanOrEqual(bound)
  })

  test.each(Object.entries(indexesOfTotals))('%s: the total is read from %s', async (list, index) => {
    expect(await plans(list)).toContain(`Only Scan using ${index} on`)
  })

  test.each(Object.entries(mostBlocks).filter(([list]) => steady.includes(list)))(
    '%s: reads at most %i blocks',
    async (list, most) => {
      const [, blocks = Number.NaN] = measured.get(list) ?? []
      expect(blocks, blocks > most ? await plans(list) : list).toBeLessThanOrEqual(most)
    },
  )

  test('rejected recharges: the time limit, which needs the row, is not compared', async () => {
    expect(await plans('recharges of all workspaces, rejected')).not.toContain('expiresAt')
  })

  test('the generated ledger is consistent', async () => {
    expect(await verifyLedger(database)).toBeNull()
  })
})
