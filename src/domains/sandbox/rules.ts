import { type Instant, type Money, parseMoney } from '../../kernel/index.ts'
import { expiredAt, type OrderMove, rechargeExpiry } from '../../ledger/index.ts'
import type { OpenOrder, SandboxWallet } from './store.ts'

/** The reason in an order's history and data: a code, as `failureCode` is one. */
const reason = 'SANDBOX_RESET'

/** Opening balance of each default wallet, in whole units of its currency. */
const openingUnits = '10000'

/** A wallet's balance in the seed state, in minor units. */
const seedBalance = ({ isDefault, currency }: SandboxWallet): bigint =>
  isDefault ? (parseMoney(openingUnits, currency)?.minor ?? 0n) : 0n

/** The amount that brings a wallet to its seed balance, negative if it holds too much. Undefined: nothing to do. */
export const correctionOf = (wallet: SandboxWallet): Money | undefined => {
  if (wallet.status === 'CLOSED') return undefined
  const minor = seedBalance(wallet) - wallet.balance
  return minor === 0n ? undefined : { minor, currency: wallet.currency }
}

/** The final status of an open order. An order past its expiry counts as EXPIRED already. */
const finalStatusOf = ({ type, status, expiresAt }: OpenOrder, at: Instant): 'CANCELLED' | 'EXPIRED' | 'FAILED' => {
  if (expiredAt({ status, data: { expiresAt } }, rechargeExpiry, at) !== null) return 'EXPIRED'
  return type === 'RECHARGE' || (type === 'WITHDRAWAL' && status === 'PENDING_APPROVAL') ? 'CANCELLED' : 'FAILED'
}

/** The field of an order's data that repeats the reason from its history. */
const reasonFields: Partial<Record<string, string>> = {
  'TRANSFER FAILED': 'failureCode',
  'WITHDRAWAL FAILED': 'failureReason',
  'RECHARGE CANCELLED': 'cancelReason',
}

/** The last step of an open order, and the data to store with it. */
export const endingOf = (order: OpenOrder, at: Instant): Pick<OrderMove, 'steps' | 'data'> => {
  const status = finalStatusOf(order, at)
  const field = reasonFields[`${order.type} ${status}`]
  return { steps: [{ status, reason }], ...(field !== undefined && { data: { [field]: reason } }) }
}
