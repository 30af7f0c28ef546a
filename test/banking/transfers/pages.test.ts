import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import {
  approveTransfer,
  createTransfer,
  listTransfers,
  rejectTransfer,
} from '../../../src/banking/transfers/contract.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { embeddedStore } from '../../ledger/stores.ts'
import { createTestBank, type TestWallet } from '../../ledger/test-bank.ts'
import type { ReplyOf } from '../world.ts'

const store = await embeddedStore()
afterAll(store.close)

type Order = ReplyOf<typeof createTransfer>

const walletIndex = fc.nat({ max: 2 })
const transferStep = fc.record({
  from: walletIndex,
  to: walletIndex,
  amount: fc.constantFrom('1', '500'),
  decision: fc.constantFrom('approve' as const, 'reject' as const, 'none' as const),
  // Orders of the same instant need a stable order, too.
  pause: fc.constantFrom(0, 0, 0, 1),
})
const listQuery = fc.record({
  sortBy: fc.constantFrom('createdAt' as const, 'updatedAt' as const),
  sortOrder: fc.constantFrom('asc' as const, 'desc' as const),
  pageSize: fc.integer({ min: 1, max: 5 }),
  transferStatus: fc.constantFrom(undefined, undefined, 'PENDING_APPROVAL', 'COMPLETED', 'FAILED'),
  wallet: fc.option(walletIndex, { nil: undefined }),
  since: fc.option(fc.nat(20), { nil: undefined }),
  until: fc.option(fc.nat(20), { nil: undefined }),
})
type ListQuery = typeof listQuery extends fc.Arbitrary<infer A> ? A : never

const seed = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31)
const { clock, call, wallet } = await createTestBank(store.database, { approvalThreshold: { JPY: '500' } })
const maker = systemIds.next<'account'>()
const checker = systemIds.next<'account'>()

const decisions = { approve: approveTransfer, reject: rejectTransfer }

async function openWallets(): Promise<[TestWallet, TestWallet, TestWallet]> {
  const mine = await wallet('JPY', '100000')
  return [mine, await wallet('JPY', '100000', mine.workspace), await wallet('JPY', '100000')]
}

interface Paged<T> {
  items: T[]
  pagination: { totalRecords: number; hasNext: boolean }
}

/** Expects the same total on each page. */
async function everyPage<T>(total: number, read: (currentPage: string) => Promise<Paged<T>>): Promise<T[]> {
  const found: T[] = []
  for (let page = 1, isMore = true; isMore; page++) {
    const { items, pagination } = await read(String(page))
    expect(pagination.totalRecords).toBe(total)
    found.push(...items)
    isMore = pagination.hasNext
  }
  return found
}

function summaryOf({ bizId, version, updatedAt, transferStatus }: Order) {
  return [bizId, version, updatedAt, transferStatus.code]
}

/** The workspace's own orders, and completed ones that it received. */
function expectedOrders(orders: readonly Order[], mine: string, { sortBy, sortOrder, transferStatus }: ListQuery) {
  const key = (order: Order): string => `${order[sortBy]} ${order.bizId}`
  const sorted = orders
    .filter(({ workspaceBizId, transferStatus: { code } }) => workspaceBizId === mine || code === 'COMPLETED')
    .filter(({ transferStatus: { code } }) => transferStatus === undefined || code === transferStatus)
    .sort((a, b) => (key(a) < key(b) ? -1 : 1))
  return sortOrder === 'asc' ? sorted : sorted.reverse()
}

test('transfers.list 200: the pages of any query contain each matching order once, sorted', async () => {
  const property = fc.asyncProperty(
    fc.array(transferStep, { minLength: 5, maxLength: 20 }),
    fc.array(listQuery, { minLength: 6, maxLength: 6 }),
    async (steps, queries) => {
      const wallets = await openWallets()
      const [{ workspace: mine }] = wallets
      const orders: Order[] = []
      for (const { from, to, amount, decision, pause } of steps) {
        const [source, target] = [wallets[from], wallets[to]]
        if (!source || !target || from === to) continue
        const body = { sourceWalletBizId: source.id, targetWalletBizId: target.id, amount, currency: 'JPY' }
        const created = await call(createTransfer, { as: maker, workspace: source.workspace, body })
        clock.advance(pause)
        const decisionRequest = { as: checker, params: { order_id: created.bizId }, body: { reason: 'no' } }
        const isFinal = decision === 'none' || created.transferStatus.code !== 'PENDING_APPROVAL'
        orders.push(isFinal ? created : await call(decisions[decision], decisionRequest))
      }
      for (const listing of queries) {
        const { sortBy, sortOrder, transferStatus, wallet: nth = -1, since = -1, until = -1 } = listing
        const [walletId, startTime, endTime] = [wallets[nth]?.id, orders[since]?.createdAt, orders[until]?.createdAt]
        if (startTime && endTime && startTime > endTime) continue
        const filters = {
          sortOrder,
          pageSize: String(listing.pageSize),
          ...(startTime && { startTime }),
          ...(endTime && { endTime }),
        }
        const query = { ...filters, sortBy, ...(walletId && { walletId }), ...(transferStatus && { transferStatus }) }
        const expected = expectedOrders(orders, mine, listing)
          .filter((order) => !walletId || [order.sourceWalletBizId, order.targetWalletBizId].includes(walletId))
          .filter(({ createdAt }) => !(startTime && createdAt < startTime) && !(endTime && createdAt > endTime))
        const listed = await everyPage(expected.length, (currentPage) =>
          call(listTransfers, { as: maker, workspace: mine, query: { ...query, currentPage } }),
        )
        expect(listed.map(summaryOf)).toEqual(expected.map(summaryOf))
      }
    },
  )
  process.stdout.write(`fast-check seed ${seed} (FC_SEED repeats it)\n`)
  await fc.assert(property, { seed, numRuns: 5 })
})
