import type { Instant } from '../../kernel/index.ts'
import { type Order, ranOutAt, rechargeRunsOut, type Tariff, type TariffTerms, tariffOf } from '../../ledger/index.ts'

/** A way to pay in, as the configuration writes it. */
export type ChannelTerms = TariffTerms & {
  channelCode: string
  channelName: string
  channelType: 'BANK' | 'CRYPTO' | 'CARD'
  proofRequired: boolean
  enabled: boolean
}

export interface Channel {
  terms: ChannelTerms
  tariff: Tariff
}

/** By their codes. */
export type Channels = ReadonlyMap<string, Channel>

/** Every text is read once, so that a wrong one stops the start and no recharge. */
export const channelsOf = (terms: readonly ChannelTerms[]): Channels =>
  new Map(terms.map((each) => [each.channelCode, { terms: each, tariff: tariffOf(each) }]))

/**
 * The order as a reader is to see it: one that has run out has ended, although no job has written that down yet. When
 * it ended is its own affair and not the job's, so it is told the same before and after.
 */
export const seenAt = <O extends Order>(order: O, now: Instant): O => {
  const at = ranOutAt(order, rechargeRunsOut, now)
  if (at === null) return order
  const ended = { status: rechargeRunsOut.to, at, actorBizId: null, reason: null }
  const before = order.history.filter(({ status }) => status !== ended.status)
  return { ...order, status: ended.status, updatedAt: at, history: [...before, ended] }
}
