import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { developmentIds } from '../../../src/seed/development.ts'
import { routes } from '../../harness/catalogue.ts'
import { needsStore } from '../../harness/needs.ts'
import { codeOf, invalid, startMoneyWorld } from '../money-world.ts'

const { mainUsd, savingsUsd, workspace } = developmentIds
const list = '/transfer/query/orders'

interface Page {
  items: { bizId: string }[]
  nextCursor?: string | null
  pagination: { hasNext: boolean; totalRecords: number }
}

describe('lists by cursor', needsStore(), () => {
  let world: Awaited<ReturnType<typeof startMoneyWorld>>
  const earlier: string[] = []
  beforeAll(async () => {
    world = await startMoneyWorld()
    for (let count = 1; count <= 20; count++) earlier.push(await transfer())
  })
  afterAll(() => world?.portico.stop())

  const transfer = async (): Promise<string> => {
    const wallets = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd }
    return (
      await world.data(world.web('POST', '/transfer/command/create', { ...wallets, amount: '0.01', currency: 'USD' }))
    ).bizId
  }
  const read = (query: string): Promise<Page> => world.data(world.web('GET', `${list}?pageSize=3&${query}`))
  /** Calls `between` after each page. */
  const readAll = async (query: string, between: () => Promise<unknown> = async () => undefined): Promise<string[]> => {
    const found: string[] = []
    for (let before: string | null = 'start'; before !== null; ) {
      const { items, nextCursor } = await read(`${query}&before=${before}`)
      found.push(...items.map(({ bizId }) => bizId))
      if (nextCursor === undefined) throw new Error('the reply has no nextCursor')
      before = nextCursor
      await between()
    }
    return found
  }

  test('transfers.list 200: page numbers repeat records while others are added', async () => {
    const first = await read('currentPage=1')
    expect(first).not.toHaveProperty('nextCursor')
    earlier.push(await transfer())
    const second = await read('currentPage=2')
    const ids = [...first.items, ...second.items].map(({ bizId }) => bizId)
    expect(new Set(ids).size).toBe(5)
  })

  test('transfers.list 200: a reader by cursor gets each earlier record once while 200 are added', async () => {
    let added = 0
    let isDone = false
    const adding = Array.from({ length: 4 }, async () => {
      for (; added < 200; ) {
        added++
        await transfer()
      }
    })
    const all = Promise.all(adding).then(() => {
      isDone = true
    })
    const rounds: string[][] = []
    while (!isDone) rounds.push(await readAll(''))
    await all
    expect(rounds.length).toBeGreaterThan(1)
    for (const found of rounds) {
      expect(new Set(found).size).toBe(found.length)
      expect(found.filter((id) => earlier.includes(id))).toEqual(earlier.toReversed())
    }
    const everything = await readAll('')
    expect(everything).toHaveLength(earlier.length + 200)
    expect(await readAll('sortOrder=asc')).toEqual(everything.toReversed())
  })

  test('transfers.list 200: an oldest-first reader also gets what is added meanwhile', async () => {
    let more = 3
    const added: string[] = []
    const found = await readAll('sortOrder=asc', async () => {
      if (more-- > 0) added.push(await transfer())
    })
    expect(found.slice(-3)).toEqual(added)
    expect(new Set(found).size).toBe(found.length)
  })

  test('transfers.list 200: the totals of a reader by cursor are marked as estimates', async () => {
    const reply = await world.web('GET', `${list}?pageSize=3&before=start`)
    expect(reply.headers.get('x-total-estimated')).toBe('true')
    expect(reply.body.data.pagination).toMatchObject({ hasNext: true, totalRecords: 4, currentPage: 1, pageSize: 3 })
  })

  test('transfers.list 400 VALIDATION.INVALID_PARAMETER: a malformed or misplaced cursor names its field', async () => {
    const refusal = async (query: string) => {
      const reply = await world.web('GET', `${list}?${query}`)
      return [...codeOf(reply), reply.headers.get('x-portico-fields')?.split(';')[0]]
    }
    const { nextCursor } = await read('before=start')
    for (const before of ['', 'now', '1', `${nextCursor}0`, `${nextCursor}'`, '1_2', `99999999999999999_${mainUsd}`])
      expect(await refusal(`before=${before}`), before).toEqual([...invalid, 'before'])
    expect(await refusal(`before=${nextCursor}&currentPage=2`)).toEqual([...invalid, 'before'])
    expect(await refusal(`before=${nextCursor}&sortBy=updatedAt`)).toEqual([...invalid, 'sortBy'])
    const flows = await world.web('GET', `/wallets/${mainUsd}/flows?before=${nextCursor}`)
    expect([...codeOf(flows), flows.headers.get('x-portico-fields')?.split(';')[0]]).toEqual([...invalid, 'before'])
  })

  test('lists 200: every list of the contract can be read by cursor, with the records of its pages', async () => {
    // Without `sortBy`, a list is not in the store, and each request changes it.
    const lists = routes.filter(
      ({ operation: { query } }) => query instanceof z.ZodObject && 'before' in query.shape && 'sortBy' in query.shape,
    )
    expect(lists.length).toBeGreaterThan(20)
    const receiver = { url: 'http://127.0.0.1:59998/webhooks', eventTypes: ['transfer.completed'] }
    const webhook = await world.data(world.web('POST', '/webhooks', receiver))
    for (const { chainId, operation } of lists) {
      const ids = { wallet_id: mainUsd, workspace_id: workspace, webhook_id: webhook.bizId }
      const path = Object.entries(ids).reduce((all, [name, id]) => all.replace(`{${name}}`, id), operation.path)
      if (chainId === 'api' || chainId === 'systemApi') continue
      const get = (query: string): Promise<Page> =>
        world.data((chainId === 'system' ? world.system : world.web)('GET', `${path}?sortOrder=asc&${query}`))
      const { items } = await get('pageSize=50')
      const found: Page['items'] = []
      for (let before: string | null | undefined = 'start'; before && found.length < items.length; ) {
        const page = await get(`pageSize=20&before=${before}`)
        expect(page.nextCursor, operation.id).not.toBe(undefined)
        found.push(...page.items)
        before = page.nextCursor
      }
      expect(found.slice(0, 50), operation.id).toEqual(items)
    }
  })
})
