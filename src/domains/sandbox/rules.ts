import { type Instant, type Money, parseMoney } from '../../kernel/index.ts'
import { expiredAt, type OrderMove, rechargeExpiry } from '../../ledger/index.ts'
import type { OpenOrder, SandboxWallet } from './store.ts'

/** A code, as failureCode is one; the texts beside it have no other words. */
const reason = 'SANDBOX_RESET'

/** What each default wallet of a sandbox starts with, in whole units of its currency: play money. */
const openingUnits = '10000'

/** The balance that a wallet has in the seed state, in minor units. */
const seedBalance = ({ isDefault, currency }: SandboxWallet): bigint =>
  isDefault ? (parseMoney(openingUnits, currency)?.minor ?? 0n) : 0n

/** What a wallet lacks of its seed state, negative where it has too much; undefined for nothing to do. */
export const correction = (wallet: SandboxWallet): Money | undefined => {
  if (wallet.status === 'CLOSED') return undefined
  const minor = seedBalance(wallet) - wallet.balance
  return minor === 0n ? undefined : { minor, currency: wallet.currency }
}

/** How an order that is still open ends when its sandbox is emptied; one that has run out is told as EXPIRED already. */
const endOf = ({ type, status, expiresAt }: OpenOrder, at: Instant): 'CANCELLED' | 'EXPIRED' | 'FAILED' => {
  if (expiredAt({ status, data: { expiresAt } }, rechargeExpiry, at) !== null) return 'EXPIRED'
  return type === 'RECHARGE' || (type === 'WITHDRAWAL' && status === 'PENDING_APPROVAL') ? 'CANCELLED' : 'FAILED'
}

/** Where an order's data says why it ended so, beside its history. */
const grounds: Partial<Record<string, string>> = {
  'TRANSFER FAILED': 'failureCode',
  'WITHDRAWAL FAILED': 'failureReason',
  'RECHARGE CANCELLED': 'cancelReason',
}

/** The last step of an order that is still open, and what it has to say of it. */
export const endingOf = (order: OpenOrder, at: Instant): Pick<OrderMove, 'steps' | 'data'> => {
  const status = endOf(order, at)
  const field = grounds[`${order.type} ${status}`]
  return { steps: [{ status, reason }], ...(field !== undefined && { data: { [field]: reason } }) }
}
