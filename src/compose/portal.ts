import type { Logger } from 'pino'
import { createApp, gatewayPipeline, type Pipeline, servicePipeline, unmatchedLimit } from '../app.ts'
import { type Backends, callAssertionStage } from '../backends/index.ts'
import type { Configuration } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import { isDatabaseUnavailable } from '../database/index.ts'
import {
  buildSecurityHeaders,
  createAccessCache,
  createErrorHandler,
  createPageLog,
  createReferencePages,
  createRequestHandler,
  createRequestLog,
  createResponseWriter,
  createRouter,
  type FinishedRequest,
  type Tracing,
} from '../gateway/index.ts'
import type { AuthenticationPort, ChannelPort, LimitPort } from '../gateway/pipeline/ports.ts'
import { assertionType, type Identity } from '../identity/index.ts'
import { type AnyHandler, type HandlerTable, isBizId, Refusal, thenSync } from '../kernel/index.ts'
import { recordRefusal } from '../platform/audit/index.ts'
import { isBlobStoreUnavailable } from '../platform/blobs/index.ts'
import { isRedisUnavailable } from '../platform/redis/index.ts'
import type { Metrics, PerimeterMetrics } from '../platform/telemetry/index.ts'
import { buildOpenApiDocument } from './catalogue.ts'
import type { Domains } from './domains.ts'
import type { Infrastructure } from './infrastructure.ts'

/** The parts of a process before it listens. */
export interface Parts {
  catalogue: Catalogue
  isGateway: boolean
  settings: Configuration
  infrastructure: Infrastructure
  logger: Logger
  metrics: Metrics
  perimeter: PerimeterMetrics
  identity: Identity
  domains: Domains
}

/** Rejects every API key, because the domain apiKeys is off. */
const refuseApiKeys: AuthenticationPort['apiKey'] = async () => {
  throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the domain apiKeys is off' })
}

/** Returns the pipeline of the gateway, or of a domain service behind one. */
export const buildPipeline = (
  { isGateway, settings, infrastructure, perimeter, identity, domains }: Parts,
  backends: Backends,
  tracing: Tracing | null,
): Pipeline =>
  isGateway
    ? gatewayPipeline({
        settings,
        tracing,
        limits: withLimitMetrics(infrastructure.limits, perimeter),
        channel: withChannelMetrics(identity.channel, perimeter),
        authentication: {
          ...identity.authentication,
          apiKey: domains.service('apiKeys')?.authenticate ?? refuseApiKeys,
        },
        access: createAccessCache(domains.requireService('members'), infrastructure.clock, {
          leaseMs: settings.access.leaseMs,
          shared: settings.databaseUrl !== null,
        }),
        backends,
      })
    : servicePipeline({
        settings,
        tracing,
        backends,
        callAssertion: callAssertionStage(
          { ...settings.tokens, type: assertionType, ...settings.assertion },
          infrastructure.clock,
        ),
      })

/** Whether the process is shutting down. Draining starts once and never ends. */
export function createDraining(): { start(): void; isDraining(): boolean } {
  let draining = false
  return {
    start: () => {
      draining = true
    },
    isDraining: () => draining,
  }
}

/** Returns the app of the portal listener: the chains, the request log, and the public pages of a gateway. */
export function portalApp(
  { isGateway, catalogue, settings, infrastructure, logger, metrics, perimeter, domains }: Parts,
  pipeline: Pipeline,
  explain: { record(finished: FinishedRequest): void },
  tracing: Tracing | null,
) {
  const { clock, ids, words } = infrastructure
  const responses = createResponseWriter({
    clock,
    words,
    catalogue,
    securityHeaders: buildSecurityHeaders(),
    includesField: !isGateway,
    // The gateway in front of a service detects slow clients.
    stallMs: isGateway ? settings.requests.downloadStallMs : 0,
  })
  const router = createRouter(
    isGateway ? catalogue.operations : catalogue.operations.filter(({ id }) => domains.handlers.has(id)),
  )
  const stages = Object.values(pipeline)
  const logRequest = createRequestLog(logger, catalogue)
  const log = (finished: FinishedRequest): void => {
    logRequest(finished)
    explain.record(finished)
    tracing?.endSpan(finished)
    if (isGateway) auditDenial(infrastructure, finished)
  }
  const isUnavailable = (error: unknown): boolean =>
    isDatabaseUnavailable(error) || isRedisUnavailable(error) || isBlobStoreUnavailable(error)
  const requestHandler = createRequestHandler({
    router,
    stages,
    // The gateway in front of a service has already counted the address.
    limitUnmatched: isGateway
      ? unmatchedLimit({ settings, limits: withLimitMetrics(infrastructure.limits, perimeter) })
      : () => undefined,
    responses,
    clock,
    ids,
    metrics,
    log,
    isUnavailable,
  })
  const pages = isGateway ? createReferencePages(() => buildOpenApiDocument(catalogue, words)) : null
  return createApp({
    ...requestHandler,
    pageLog: createPageLog(logger),
    pages,
    errorHandler: createErrorHandler(responses, logger),
  })
}

/** Returns the id in the path of a command, which is the target of the command. Returns null if it is not a UUID. */
const targetIn = (params: Record<string, string>): string | null => {
  const [id = ''] = Object.values(params)
  return isBizId(id) ? id : null
}

/**
 * Writes a command that was refused for lack of a permission to the audit log, in the background. Refused reads are in the
 * request log only.
 */
function auditDenial(
  { database, background }: Pick<Infrastructure, 'database' | 'background'>,
  { requestId, call, refusal }: FinishedRequest,
): void {
  if (refusal?.code !== 'ACCESS.PERMISSION_DENIED' || !call?.caller || call.method !== 'POST') return
  const { accountId, portal, apiKeyId } = call.caller
  const operationId = call.operation.id
  const auditContext = {
    operationId,
    accountId,
    apiKeyId,
    portal,
    at: call.receivedAt,
    requestId,
    clientIp: call.clientIp,
  }
  const on = {
    workspaceId: call.workspace?.id ?? null,
    targetId: targetIn(call.params),
    detail: { reason: refusal.code },
  }
  background.run('audit-refused', () => recordRefusal(database, auditContext, on))
}

/** Counts every rejected request by the name of the limit. */
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
