import { afterEach, describe, expect, expectTypeOf, it } from 'vitest'
import { iterate, type PorticoError } from '../../src/client/index.ts'
import { consumer, order, pair, walletId } from './fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from './scripted-gateway.ts'

let gateway: ScriptedGateway
afterEach(() => gateway.close())

const list = 'GET /web/v1/consumer/transfer/query/orders'
const pagination = { totalPages: 1, totalRecords: 1, currentPage: 1, pageSize: 2, empty: false, paginated: true }

function pageOf(ids: readonly string[], nextCursor?: string | null): Step {
  const items = ids.map((bizId) => ({ ...order, bizId }))
  return ok({ items, pagination: { ...pagination, hasNext: nextCursor !== null }, nextCursor })
}

async function start(steps: Step[]) {
  gateway = await scriptedGateway({ [list]: steps })
  const client = consumer(gateway.baseUrl)
  await client.session.adopt(pair('1'))
  return client
}
const queries = () => gateway.seen.map(({ path }) => Object.fromEntries(new URLSearchParams(path.split('?')[1])))

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

describe('iterate', () => {
  it('yields the records of all pages, with the arguments of the caller', async () => {
    const client = await start([pageOf(['a', 'b'], '1_1'), pageOf([], '1_2'), pageOf(['c'], null)])
    const query = { clientReference: 'INV-1', sortOrder: 'asc', pageSize: 2 } as const
    const found = await collect(iterate(client.listTransfers, { query, workspaceId: walletId }))
    expect(found.map(({ bizId }) => bizId)).toEqual(['a', 'b', 'c'])
    const sent = { clientReference: 'INV-1', sortOrder: 'asc', pageSize: '2' }
    expect(queries()).toEqual(['start', '1_1', '1_2'].map((before) => ({ ...sent, before })))
    expect(gateway.seen.every(({ headers }) => headers['x-workspace-id'] === walletId)).toBe(true)
  })

  it('reads nothing before the first record is requested, and no page after a break', async () => {
    const client = await start([pageOf(['a', 'b'], '1_1')])
    const transfers = iterate(client.listTransfers)
    expect(gateway.seen).toEqual([])
    for await (const { bizId } of transfers) if (bizId === 'a') break
    expect(queries()).toEqual([{ before: 'start', pageSize: '100' }])
  })

  it('ends with the reason of the signal, also between two records', async () => {
    const client = await start([pageOf(['a', 'b'], '1_1')])
    const controller = new AbortController()
    const found: string[] = []
    const reading = async () => {
      for await (const { bizId } of iterate(client.listTransfers, { signal: controller.signal })) {
        found.push(bizId)
        controller.abort(new Error('enough'))
      }
    }
    await expect(reading()).rejects.toThrow('enough')
    expect(found).toEqual(['a'])
  })

  it('rejects with the error of a page, as the method does', async () => {
    const client = await start([pageOf(['a'], '1_1'), refuse(403, 'ACCESS.PERMISSION_DENIED')])
    const found: string[] = []
    const reading = async () => {
      for await (const { bizId } of iterate(client.listTransfers)) found.push(bizId)
    }
    const error = await reading().catch((thrown: PorticoError) => thrown)
    expect([found, error?.code]).toEqual([['a'], 'ACCESS.PERMISSION_DENIED'])
  })

  it('rejects rather than ends if a list ignores the cursor', async () => {
    const client = await start([pageOf(['a'])])
    await expect(collect(iterate(client.listTransfers))).rejects.toThrow('does not take `before`')
  })

  it('has the types of the method', async () => {
    const client = await start([pageOf([], null)])
    expect(await collect(iterate(client.listTransfers))).toEqual([])
    type Listed = Awaited<ReturnType<typeof client.listTransfers>>['items'][number]
    expectTypeOf(iterate(client.listTransfers)).toEqualTypeOf<AsyncGenerator<Listed, void, undefined>>()
    expectTypeOf(iterate(client.listWalletTransfers, { params: { wallet_id: 'x' }, workspaceId: 'x' })).toEqualTypeOf<
      AsyncGenerator<Listed, void, undefined>
    >()
    // @ts-expect-error: the path parameter is missing
    iterate(client.listWalletTransfers)
    // @ts-expect-error: the list has no such filter
    iterate(client.listTransfers, { query: { color: 'red' } })
    // @ts-expect-error: not a paged list
    iterate(client.listWallets)
  })
})
