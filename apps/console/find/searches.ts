import {
  isPorticoError,
  listAccounts,
  listAllExchanges,
  listAllRecharges,
  listAllTransfers,
  listAllWithdrawals,
  listAuditLog,
  listWorkspaces,
  readAccount,
  readAnyRecharge,
  readAnyTransfer,
  readAnyWithdrawal,
} from 'portal-client'
import { client } from '../../kit/client.ts'
import { formatMoney, formatTime } from '../../kit/format.ts'
import { findPayoutAccount } from '../queues/parts/trail.tsx'

export interface Match {
  id: string
  title: string
  path: string
  detail: string
  status: { code: string; label: string }
}

/** A part of the page. */
export interface Search {
  /** The key of its title. */
  group: string
  permission: string
  /** Whether texts of this form can match. */
  takes(form: TextForm): boolean
  read(text: string, form: TextForm): Promise<Match[]>
}

/** `id` also for request ids, which can be any text. `address` is that of a client, IPv4 or IPv6. */
export type TextForm =
  | 'transferNo'
  | 'exchangeNo'
  | 'rechargeNo'
  | 'withdrawalNo'
  | 'id'
  | 'email'
  | 'address'
  | 'other'

const forms: readonly (readonly [RegExp, TextForm])[] = [
  [/^TRF-/i, 'transferNo'],
  [/^EXC-/i, 'exchangeNo'],
  [/^RCH-/i, 'rechargeNo'],
  [/^WDR-/i, 'withdrawalNo'],
  [/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i, 'id'],
  [/@/, 'email'],
  [/^\d{1,3}(\.\d{1,3}){3}$/, 'address'],
  [/^[\da-f:]*:[\da-f]*:[\da-f:.]*$/i, 'address'],
]

export function formOf(text: string): TextForm {
  return forms.find(([pattern]) => pattern.test(text))?.[1] ?? 'other'
}

const pageSize = 10

/** What the page searches, in the order of its groups. docs/guides/lists.md describes the filters. */
export const searches: readonly Search[] = [
  {
    group: 'find.accounts',
    permission: 'account:read',
    takes: isNoOrder,
    read: async (text, form) => {
      const found =
        form === 'id'
          ? await orNone(client.call(readAccount, { params: { account_id: text } }))
          : (await client.call(listAccounts, { query: { accountEmail: text, pageSize } })).items
      return found.map(({ bizId, accountEmail, accountName, accountPortal, accountStatus }) => ({
        ...{ id: bizId, title: accountEmail, path: `/accounts/${bizId}`, status: accountStatus },
        detail: `${accountName} · ${accountPortal.label}`,
      }))
    },
  },
  {
    group: 'find.workspaces',
    permission: 'workspace:read',
    takes: (form) => form === 'id' || form === 'other',
    read: async (text, form) => {
      const filter = form === 'id' ? { workspaceId: text } : { workspaceName: text }
      const { items } = await client.call(listWorkspaces, { query: { ...filter, pageSize } })
      return items.map(({ bizId, workspaceName, workspaceKind, workspaceStatus }) => ({
        ...{ id: bizId, title: workspaceName, path: `/workspaces/${bizId}`, status: workspaceStatus },
        detail: workspaceKind.label,
      }))
    },
  },
  {
    group: 'find.transfers',
    permission: 'transfer:read',
    takes: (form) => form === 'transferNo' || isNoOrder(form),
    read: async (text, form) => {
      const filter = form === 'transferNo' ? { orderNo: text } : { clientReference: text }
      const { items } = await client.call(listAllTransfers, { query: { ...filter, pageSize } })
      const byId = form === 'id' ? await orNone(client.call(readAnyTransfer, { params: { order_id: text } })) : []
      return [...byId, ...items].map((order) =>
        toMatch(order, order.transferStatus, `/queues/transfers/${order.bizId}`),
      )
    },
  },
  {
    group: 'find.recharges',
    permission: 'recharge:read',
    takes: (form) => form === 'rechargeNo' || isNoOrder(form),
    read: async (text, form) => {
      const filter = form === 'rechargeNo' ? { orderNo: text } : { externalReference: text }
      const { items } = await client.call(listAllRecharges, { query: { ...filter, pageSize } })
      const byId = form === 'id' ? await orNone(client.call(readAnyRecharge, { params: { recharge_id: text } })) : []
      return [...byId, ...items].map((order) =>
        toMatch(order, order.rechargeStatus, `/queues/recharges/${order.bizId}`),
      )
    },
  },
  {
    group: 'find.withdrawals',
    permission: 'withdrawal:read',
    takes: (form) => form === 'withdrawalNo' || isNoOrder(form),
    read: async (text, form) => {
      const filter = form === 'withdrawalNo' ? { orderNo: text } : { externalReference: text }
      const { items } = await client.call(listAllWithdrawals, { query: { ...filter, pageSize } })
      const byId =
        form === 'id' ? await orNone(client.call(readAnyWithdrawal, { params: { withdrawal_id: text } })) : []
      return [...byId, ...items].map((order) =>
        toMatch(order, order.withdrawalStatus, `/queues/withdrawals/${order.bizId}`),
      )
    },
  },
  {
    group: 'find.exchanges',
    permission: 'exchange-rate:read',
    takes: (form) => form === 'exchangeNo',
    read: async (text) => {
      const { items } = await client.call(listAllExchanges, { query: { orderNo: text, pageSize } })
      return items.map((order) => ({
        ...{ id: order.bizId, title: order.orderNo, status: order.exchangeStatus },
        path: `/postings/${order.bizId}`,
        detail: `${formatMoney(order.sourceAmount, order.sourceCurrency)} → ${formatMoney(order.targetAmount, order.targetCurrency)}`,
      }))
    },
  },
  {
    group: 'find.payoutAccounts',
    permission: 'withdrawal-channel:read',
    takes: (form) => form === 'id',
    read: async (text) => {
      const found = await findPayoutAccount(text)
      if (!found) return []
      const { bizId, maskedAccount, accountHolderName, channelStatus } = found
      return [
        {
          ...{ id: bizId, title: maskedAccount, detail: accountHolderName, status: channelStatus },
          path: `/queues/payout-accounts/${bizId}`,
        },
      ]
    },
  },
  {
    group: 'find.audit',
    permission: 'audit:read',
    takes: () => true,
    read: async (text, form) => {
      const filters = auditFilters(text, form)
      const pages = await Promise.all(
        filters.map((filter) => client.call(listAuditLog, { query: { ...filter, pageSize: 5 } })),
      )
      return pages.flatMap(({ items }, at) =>
        items.map(({ bizId, action, at: instant, outcome }) => ({
          ...{ id: bizId, title: action, detail: formatTime(instant), status: outcome },
          path: `/audit?${new URLSearchParams(filters[at])}`,
        })),
      )
    },
  },
]

/** Also removes what the gateway does not take as a filter. */
export async function findMatches(search: Search, text: string): Promise<Match[]> {
  try {
    const matches = await search.read(text, formOf(text))
    return [...new Map(matches.map((match) => [match.id, match])).values()]
  } catch (error) {
    if (isPorticoError(error, 'VALIDATION.INVALID_PARAMETER')) return []
    throw error
  }
}

function isNoOrder(form: TextForm): boolean {
  return form === 'id' || form === 'email' || form === 'other'
}

function auditFilters(text: string, form: TextForm): Record<string, string>[] {
  if (form === 'address') return [{ clientIp: text }]
  if (!isNoOrder(form)) return [{ orderNo: text }]
  return form === 'id' ? [{ requestId: text }, { targetId: text }] : [{ requestId: text }]
}

function toMatch(
  { bizId, orderNo, amount, currency, createdAt }: FoundOrder,
  status: Match['status'],
  path: string,
): Match {
  const detail = `${formatMoney(amount, currency)} · ${formatTime(createdAt)}`
  return { id: bizId, title: orderNo, path, detail, status }
}

interface FoundOrder {
  bizId: string
  orderNo: string
  amount: string
  currency: string
  createdAt: string
}

/** Empty if the record does not exist. */
async function orNone<Found>(call: Promise<Found>): Promise<Found[]> {
  try {
    return [await call]
  } catch (error) {
    if (isPorticoError(error, 'RESOURCE.NOT_FOUND')) return []
    throw error
  }
}
