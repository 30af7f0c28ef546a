import { listAllExchanges, listAllRecharges, listAllTransfers, listAllWithdrawals } from 'portal-client'
import { client } from '../../kit/client.ts'

/** An order of any kind, as the list shows it. */
export interface OrderRow {
  id: string
  orderNo: string
  workspaceId: string
  amount: string
  currency: string
  status: string
  isFinal: boolean
  createdAt: string
}

export interface OrderFilters {
  workspaceId: string | undefined
  walletId: string | undefined
  orderNo: string | undefined
  startTime: string | undefined
  endTime: string | undefined
}

interface OrderPage {
  items: OrderRow[]
  nextCursor: string | null | undefined
}

interface OrderKind {
  kind: 'transfers' | 'recharges' | 'withdrawals' | 'exchanges'
  permission: string
  read(filters: OrderFilters, before: string): Promise<OrderPage>
}

interface Common {
  bizId: string
  orderNo: string
  workspaceBizId: string
  createdAt: string
  completedAt: string | null
}

/** The kinds of orders, with the permissions that their lists require. */
export const orderKinds: readonly OrderKind[] = [
  {
    kind: 'transfers',
    permission: 'transfer:read',
    read: async (filters, before) => {
      const { items, nextCursor } = await client.call(listAllTransfers, { query: { ...filters, before } })
      return {
        items: items.map((order) => ({ ...commonOf(order, order), status: order.transferStatus.label })),
        nextCursor,
      }
    },
  },
  {
    kind: 'recharges',
    permission: 'recharge:read',
    read: async (filters, before) => {
      const { items, nextCursor } = await client.call(listAllRecharges, { query: { ...filters, before } })
      return {
        items: items.map((order) => ({ ...commonOf(order, order), status: order.rechargeStatus.label })),
        nextCursor,
      }
    },
  },
  {
    kind: 'withdrawals',
    permission: 'withdrawal:read',
    read: async (filters, before) => {
      const { items, nextCursor } = await client.call(listAllWithdrawals, { query: { ...filters, before } })
      return {
        items: items.map((order) => ({ ...commonOf(order, order), status: order.withdrawalStatus.label })),
        nextCursor,
      }
    },
  },
  {
    kind: 'exchanges',
    permission: 'exchange-rate:read',
    // Exchanges have two wallets, and no filter for them.
    read: async ({ walletId: _, ...filters }, before) => {
      const { items, nextCursor } = await client.call(listAllExchanges, { query: { ...filters, before } })
      const money = (order: (typeof items)[number]) => ({ amount: order.sourceAmount, currency: order.sourceCurrency })
      return {
        items: items.map((order) => ({ ...commonOf(order, money(order)), status: order.exchangeStatus.label })),
        nextCursor,
      }
    },
  },
]

function commonOf(order: Common, { amount, currency }: { amount: string; currency: string }) {
  const { bizId: id, orderNo, workspaceBizId: workspaceId, createdAt, completedAt } = order
  return { id, orderNo, workspaceId, amount, currency, createdAt, isFinal: completedAt !== null }
}
