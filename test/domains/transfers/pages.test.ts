import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import {
  approveTransfer,
  createTransfer,
  listTransfers,
  rejectTransfer,
} from '../../../src/domains/transfers/contract.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { embeddedStore } from '../../ledger/stores.ts'
import { createTestBank, type TestWallet } from '../../ledger/test-bank.ts'
import type { ReplyOf } from '../world.ts'

const store = await embeddedStore()
afterAll(store.close)

type Order = ReplyOf<typeof createTransfer>

const place = fc.nat({ max: 2 })
const sending = fc.record({
  from: place,
  to: place,
  amount: fc.constantFrom('1', '500'),
  decision: fc.constantFrom('approve' as const, 'reject' as const, 'none' as const),
  // Mostly none: what happened at one instant has to keep an order too.
  pause: fc.constantFrom(0, 0, 0, 1),
})
const asking = fc.record({
  sortBy: fc.constantFrom('createdAt' as const, 'updatedAt' as const),
  sortOrder: fc.constantFrom('asc' as const, 'desc' as const),
  pageSize: fc.integer({ min: 1, max: 5 }),
  transferStatus: fc.constantFrom(undefined, undefined, 'PENDING_APPROVAL', 'COMPLETED', 'FAILED'),
  wallet: fc.option(place, { nil: undefined }),
  since: fc.option(fc.nat(20), { nil: undefined }),
  until: fc.option(fc.nat(20), { nil: undefined }),
})
type Asking = typeof asking extends fc.Arbitrary<infer A> ? A : never

const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)
const { clock, call, wallet } = await createTestBank(store.database, { approvalThreshold: { JPY: '500' } })
const maker = systemIds.next<'account'>()
const checker = systemIds.next<'account'>()

const decisions = { approve: approveTransfer, reject: rejectTransfer }

const openWallets = async (): Promise<[TestWallet, TestWallet, TestWallet]> => {
  const mine = await wallet('JPY', '100000')
  return [mine, await wallet('JPY', '100000', mine.workspace), await wallet('JPY', '100000')]
}

interface Paged<T> {
  items: T[]
  pagination: { totalRecords: number; hasNext: boolean }
}

/** Every page of a list, one after the other; each has to tell the same total. */
const everyPage = async <T>(total: number, read: (currentPage: string) => Promise<Paged<T>>): Promise<T[]> => {
  const found: T[] = []
  for (let page = 1, isMore = true; isMore; page++) {
    const { items, pagination } = await read(String(page))
    expect(pagination.totalRecords).toBe(total)
    found.push(...items)
    isMore = pagination.hasNext
  }
  return found
}

const seen = ({ bizId, version, updatedAt, transferStatus }: Order) => [bizId, version, updatedAt, transferStatus.code]

/** What a workspace is to be told, by the plain rule: its own orders, and what has come to it. */
const told = (orders: readonly Order[], mine: string, { sortBy, sortOrder, transferStatus }: Asking) => {
  const key = (order: Order): string => `${order[sortBy]} ${order.bizId}`
  const sorted = orders
    .filter(({ workspaceBizId, transferStatus: { code } }) => workspaceBizId === mine || code === 'COMPLETED')
    .filter(({ transferStatus: { code } }) => transferStatus === undefined || code === transferStatus)
    .sort((a, b) => (key(a) < key(b) ? -1 : 1))
  return sortOrder === 'asc' ? sorted : sorted.reverse()
}

test('transfers.list 200: the pages of any query make up what it asks for, in its order, each order once', async () => {
  const course = fc.asyncProperty(
    fc.array(sending, { minLength: 5, maxLength: 20 }),
    fc.array(asking, { minLength: 6, maxLength: 6 }),
    async (sendings, askings) => {
      const wallets = await openWallets()
      const [{ workspace: mine }] = wallets
      const orders: Order[] = []
      for (const { from, to, amount, decision, pause } of sendings) {
        const [source, target] = [wallets[from], wallets[to]]
        if (!source || !target || from === to) continue
        const body = { sourceWalletBizId: source.id, targetWalletBizId: target.id, amount, currency: 'JPY' }
        const made = await call(createTransfer, { as: maker, workspace: source.workspace, body })
        clock.advance(pause)
        const deciding = { as: checker, params: { order_id: made.bizId }, body: { reason: 'no' } }
        const isLeft = decision === 'none' || made.transferStatus.code !== 'PENDING_APPROVAL'
        orders.push(isLeft ? made : await call(decisions[decision], deciding))
      }
      for (const one of askings) {
        const { sortBy, sortOrder, transferStatus, wallet: nth = -1, since = -1, until = -1 } = one
        const [walletId, startTime, endTime] = [wallets[nth]?.id, orders[since]?.createdAt, orders[until]?.createdAt]
        if (startTime && endTime && startTime > endTime) continue
        const within = {
          sortOrder,
          pageSize: String(one.pageSize),
          ...(startTime && { startTime }),
          ...(endTime && { endTime }),
        }
        const query = { ...within, sortBy, ...(walletId && { walletId }), ...(transferStatus && { transferStatus }) }
        const wanted = told(orders, mine, one)
          .filter((order) => !walletId || [order.sourceWalletBizId, order.targetWalletBizId].includes(walletId))
          .filter(({ createdAt }) => !(startTime && createdAt < startTime) && !(endTime && createdAt > endTime))
        const listed = await everyPage(wanted.length, (currentPage) =>
          call(listTransfers, { as: maker, workspace: mine, query: { ...query, currentPage } }),
        )
        expect(listed.map(seen)).toEqual(wanted.map(seen))
      }
    },
  )
  process.stdout.write(`fast-check seed ${seed} (FC_SEED repeats it)\n`)
  await fc.assert(course, { seed, numRuns: 5 })
})
