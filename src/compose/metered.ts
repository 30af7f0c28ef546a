import type { ChannelPort, LimitPort } from '../gateway/ports.ts'
import { type AnyHandler, type HandlerTable, thenSync } from '../kernel/index.ts'
import type { PerimeterMetrics } from '../platform/telemetry/index.ts'

/** The same limits, with every refusal counted by the limit's name. */
export const meteredLimits = (limits: LimitPort, metrics: PerimeterMetrics): LimitPort => ({
  addressKey: limits.addressKey,
  networkKey: limits.networkKey,
  spend: (name, key, rule) =>
    thenSync(limits.spend(name, key, rule), (spent) => {
      if (!spent.allowed) metrics.limitHit(name)
      return spent
    }),
})

/** The same channel, with its bodies counted. */
export const meteredChannel = (channel: ChannelPort, metrics: PerimeterMetrics): ChannelPort => ({
  sealer: channel.sealer,
  open: (sealed) =>
    thenSync(channel.open(sealed), (opened) => {
      metrics.channelBody(opened ? 'opened' : 'refused')
      return opened
    }),
})

/** Identity's handlers, with the channel's sessions counted; the others are the very same. */
export const meteredSessions = (handlers: HandlerTable, metrics: PerimeterMetrics): HandlerTable => {
  const counted =
    (handler: AnyHandler, done: 'opened' | 'closed'): AnyHandler =>
    async (request) => {
      try {
        const reply = await handler(request)
        metrics.channelSession(done)
        return reply
      } catch (error) {
        if (done === 'opened') metrics.channelSession('refused')
        throw error
      }
    }
  const table = new Map(handlers)
  for (const [id, done] of [
    ['secureChannel.open', 'opened'],
    ['secureChannel.close', 'closed'],
  ] as const) {
    const handler = handlers.get(id)
    if (handler) table.set(id, counted(handler, done))
  }
  return table
}
