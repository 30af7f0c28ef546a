import type { FinishedRequest } from '../gateway/index.ts'
import type { ChannelPort, LimitPort } from '../gateway/pipeline/ports.ts'
import { type AnyHandler, type HandlerTable, isBizId, thenSync } from '../kernel/index.ts'
import { recordRefusedAct } from '../platform/audit/index.ts'
import type { PerimeterMetrics } from '../platform/telemetry/index.ts'
import type { Infrastructure } from './infrastructure.ts'

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

/** The id in the path of a command, which is its target. Null where it is not a UUID. */
const targetIn = (params: Record<string, string>): string | null => {
  const [id = ''] = Object.values(params)
  return isBizId(id) ? id : null
}

/**
 * Writes commands that were refused for lack of a permission to the audit log, in the background. Refused reads are in
 * the request log only.
 */
export const auditDenials =
  ({ database, background }: Pick<Infrastructure, 'database' | 'background'>) =>
  ({ requestId, call, refusal }: FinishedRequest): void => {
    if (refusal?.code !== 'ACCESS.PERMISSION_DENIED' || !call?.caller || call.method !== 'POST') return
    const { accountId, portal, apiKeyId } = call.caller
    const operationId = call.operation.id
    const act = { operationId, accountId, apiKeyId, portal, at: call.receivedAt, requestId, clientIp: call.clientIp }
    const on = {
      workspaceId: call.workspace?.id ?? null,
      targetId: targetIn(call.params),
      detail: { reason: refusal.code },
    }
    background.run('audit-refused', () => recordRefusedAct(database, act, on))
  }
