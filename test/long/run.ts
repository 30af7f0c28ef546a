import { sql } from 'kysely'
import { expect } from 'vitest'
import { openDatabase } from '../../src/database/index.ts'
import { verifyLedger } from '../../src/ledger/index.ts'
import { targetOf } from '../faults/invariants.ts'
import { runCli } from '../harness/cli.ts'
import { type Bank, openBank } from './bank.ts'
import { type Progress, perform } from './customers.ts'
import type { Deployment } from './deployment.ts'
import { apply, scheduleFaults } from './faults.ts'
import { readFeed } from './feed.ts'
import { changesOf, currencies, lastEventOf, nextOrder, toDecimal } from './orders.ts'
import { createRandom } from './random.ts'

export interface LongRun {
  seed: number
  orders: number
  faults: number
  clients: number
  places: number
  report(line: string): void
}

/** Minor units of each currency in each workspace. The orders cannot exhaust them. */
const funds = 99_000_000n
/** Of funds, by card: 0.30 and 2.9 percent. */
const netFunds = funds - 30n - (funds * 29n + 999n) / 1_000n

/**
 * Runs the orders of the seed against the faults of the seed, settles the orders that are in doubt, and compares the
 * store with a model.
 */
export async function runLong(deployment: Deployment, run: LongRun): Promise<void> {
  const random = createRandom(run.seed)
  const bank = await openBank(deployment, run.places, toDecimal(funds))
  const feed = await readFeed(bank)
  const all: Progress[] = []
  const inTurn = async (): Promise<void> => {
    while (all.length < run.orders) {
      const progress: Progress = {
        order: nextOrder(random, run.places),
        id: undefined,
        quote: undefined,
        state: 'open',
      }
      all.push(progress)
      // Half of the customers give up after one try.
      await perform(bank, progress, random.next() < 0.5 ? 1 : 5)
    }
  }
  const faulting = async (): Promise<void> => {
    for (const fault of scheduleFaults(createRandom(run.seed + 1), run.orders, run.faults)) {
      while (all.length < fault.after) await new Promise((resolve) => setTimeout(resolve, 20))
      run.report(`${fault.after} orders: ${fault.kind}, gateway ${fault.gateway}, ${fault.ms} ms`)
      await apply(fault, deployment)
    }
  }
  await Promise.all([...Array.from({ length: run.clients }, inTurn), faulting()])
  const open = all.filter(({ state }) => state === 'open')
  run.report(`${all.length} orders, ${open.length} in doubt`)
  await expectAtMostOnce(deployment, all, run.places)
  for (const progress of open) await perform(bank, progress, 100)
  expect(all.filter(({ state }) => state === 'open')).toEqual([])
  const done = all.filter(({ state }) => state === 'done')
  await feed.finish(done.map(eventKeyOf))
  run.report(`${done.length} executed, ${all.length - done.length} refused`)
  await expectExactlyOnce(deployment, done, run.places)
  await expectBalances(bank, done)
  expect(feed.repeated).toEqual([])
  const missed = done.filter((progress) => feed.received.get(eventKeyOf(progress)) !== 1)
  expect(missed).toEqual([])
  await expectVerified(deployment)
}

function eventKeyOf({ order, id }: Progress): string {
  return `${lastEventOf(order)} ${id}`
}

/** The funds of each place are orders, too. */
async function orderIds({ postgres }: Deployment, places: number): Promise<Set<string>> {
  const store = await openDatabase(targetOf({ url: postgres.url }))
  try {
    const { rows } = await sql<{ id: string }>`SELECT biz_id AS id FROM orders ORDER BY created_at, biz_id`.execute(
      store.database,
    )
    return new Set(rows.slice(places * currencies.length).map(({ id }) => id))
  } finally {
    await store.close()
  }
}

async function expectAtMostOnce(deployment: Deployment, all: readonly Progress[], places: number): Promise<void> {
  const stored = await orderIds(deployment, places)
  const acknowledged = all.flatMap(({ id }) => id ?? [])
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
  expect(new Set(acknowledged).size).toBe(acknowledged.length)
  const unanswered = all.filter(({ id, state }) => id === undefined && state === 'open').length
  expect(stored.size).toBeLessThanOrEqual(acknowledged.length + unanswered)
}

async function expectExactlyOnce(deployment: Deployment, done: readonly Progress[], places: number): Promise<void> {
  const stored = await orderIds(deployment, places)
  const executed = new Set(done.flatMap(({ id }) => id ?? []))
  expect(executed.size).toBe(done.length)
  expect(stored).toEqual(executed)
}

async function expectBalances(bank: Bank, done: readonly Progress[]): Promise<void> {
  const expected = bank.places.map(() => ({ USD: netFunds, EUR: netFunds }))
  for (const { order } of done)
    for (const { place, currency, minor } of changesOf(order)) {
      const balances = expected[place]
      if (balances) balances[currency] += minor
    }
  for (const [index, place] of bank.places.entries())
    for (const currency of currencies) {
      const path = `/wallets/${place.wallets[currency]}/balance`
      const { body } = await bank.call('owner', 'GET', path, { place })
      const availableBalance = toDecimal(expected[index]?.[currency] ?? 0n)
      expect(body.data, `${currency} of workspace ${index}`).toMatchObject({ availableBalance, heldBalance: '0.00' })
    }
}

async function expectVerified({ postgres }: Deployment): Promise<void> {
  const store = await openDatabase(targetOf({ url: postgres.url }))
  try {
    expect(await verifyLedger(store.database)).toBeNull()
  } finally {
    await store.close()
  }
  const { code, err } = await runCli(['audit', 'verify'], {}, { DATABASE_URL: postgres.url })
  expect(code, err).toBe(0)
}
