import type { EventFeed } from 'portal-client'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'

export type FeedEvent = EventFeed['events'][number]

interface EventWords {
  /** The kind of the object, such as `Transfer`. */
  kind: string
  /** Names the object. Null if its kind is unknown. */
  name: string | null
  amount: string | null
  state: { code: string; label: string }
  /** The page of the object. */
  href: string | null
}

/** An event in the language of the page. Types of a newer gateway are shown as they are. */
export function wordsOf({ type, data }: FeedEvent): EventWords {
  const [group = type, state = ''] = type.split('.')
  const code = state.toUpperCase()
  return {
    kind: textOr(`notifications.of_${group}`, group),
    name: names.map((name) => memberOf(data, name)).find((text) => text !== null) ?? null,
    amount: amountOf(data),
    state: { code, label: textOr(`orders.status_${code}`, textOr(`notifications.state_${state}`, state)) },
    href: hrefOf(group, memberOf(data, 'bizId')),
  }
}

/** The members of data that name an object. */
const names = [
  'orderNo',
  'walletName',
  'maskedAccount',
  'accountName',
  'inviteeEmail',
  'roleName',
  'apiKeyName',
  'workspaceName',
]

const pages: Readonly<Record<string, string>> = {
  transfer: '/transfers',
  recharge: '/recharges',
  withdrawal: '/withdrawals',
  exchange: '/exchanges',
  wallet: '/wallets',
}

function hrefOf(group: string, bizId: string | null): string | null {
  if (group === 'withdrawal_channel') return '/payout-accounts'
  const page = pages[group]
  return page === undefined || bizId === null ? null : `${page}/${bizId}`
}

function amountOf(data: unknown): string | null {
  const amount = memberOf(data, 'amount') ?? memberOf(data, 'sourceAmount')
  const currency = memberOf(data, 'currency') ?? memberOf(data, 'sourceCurrency')
  return amount === null || currency === null ? null : formatMoney(amount, currency)
}

function memberOf(data: unknown, name: string): string | null {
  if (typeof data !== 'object' || data === null) return null
  const value: unknown = Reflect.get(data, name)
  return typeof value === 'string' ? value : null
}

function textOr(key: string, fallback: string): string {
  const text = t(key)
  return text === key ? fallback : text
}
