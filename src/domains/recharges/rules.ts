import type { Configuration } from '../../config/index.ts'
import type { Instant } from '../../kernel/index.ts'
import { expiredAt, type Order, parseTariff, rechargeExpiry, type Tariff } from '../../ledger/index.ts'

/** A channel for incoming payments, as configured. */
export type ChannelSettings = Configuration['money']['recharge']['channels'][number]

export interface Channel {
  settings: ChannelSettings
  tariff: Tariff
}

/** Channels by code. */
export type Channels = ReadonlyMap<string, Channel>

/** Throws a RangeError for an invalid amount, so that a wrong setting stops the start. */
export const parseChannels = (settings: readonly ChannelSettings[]): Channels =>
  new Map(settings.map((each) => [each.channelCode, { settings: each, tariff: parseTariff(each) }]))

/** The order with its expiry applied, whether or not the job has recorded it: at the time of `expiresAt`. */
export const withExpiry = <O extends Order>(order: O, now: Instant): O => {
  const at = expiredAt(order, rechargeExpiry, now)
  if (at === null) return order
  const expired = { status: rechargeExpiry.to, at, actorBizId: null, reason: null }
  const before = order.history.filter(({ status }) => status !== expired.status)
  return { ...order, status: expired.status, updatedAt: at, history: [...before, expired] }
}
