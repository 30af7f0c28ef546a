import { type Instant, parseInstant } from '../../kernel/index.ts'
import { type Order, type Tariff, type TariffTerms, tariffOf } from '../../ledger/index.ts'

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

type Waiting = Pick<Order, 'status' | 'data'>

/** When its time ran out while it waited for its payment, or null; one with a proof waits for us, without a limit. */
export const ranOutAt = ({ status, data: { expiresAt } }: Waiting, now: Instant): Instant | null => {
  const end = status === 'PENDING_PAYMENT' && expiresAt ? parseInstant(expiresAt) : undefined
  return end !== undefined && end <= now ? end : null
}

/** The order as a reader is to see it: one that has run out has ended, although no job has written that down yet. */
export const seenAt = (order: Order, now: Instant): Order => {
  const at = ranOutAt(order, now)
  if (at === null) return order
  const ended = { status: 'EXPIRED', at, actorBizId: null, reason: null }
  return { ...order, status: ended.status, history: [...order.history, ended] }
}
