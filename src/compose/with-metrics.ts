import type { ChannelPort, LimitPort } from '../gateway/pipeline/ports.ts'
import { type AnyHandler, type HandlerTable, thenSync } from '../kernel/index.ts'
import type { PerimeterMetrics } from '../platform/telemetry/index.ts'

/** Counts every refusal of a limit by the limit's name. */
export const withLimitMetrics = (limits: LimitPort, metrics: PerimeterMetrics): LimitPort => ({
  addressKey: limits.addressKey,
  networkKey: limits.networkKey,
  spend: (name, key, rule) =>
    thenSync(limits.spend(name, key, rule), (spent) => {
      if (!spent.allowed) metrics.limitHit(name)
      return spent
    }),
})

/** Counts the bodies that the secure channel opens or refuses. */
export const withChannelMetrics = (channel: ChannelPort, metrics: PerimeterMetrics): ChannelPort => ({
  sealer: channel.sealer,
  open: (sealed) =>
    thenSync(channel.open(sealed), (opened) => {
      metrics.channelBody(opened ? 'opened' : 'refused')
      return opened
    }),
})

/** Counts the channel sessions that are opened, refused and closed. */
export const withChannelSessionMetrics = (handlers: HandlerTable, metrics: PerimeterMetrics): HandlerTable => {
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
