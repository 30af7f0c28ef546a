import type { Logger } from 'pino'
import { createApp, gatewayPipeline, type Pipeline, servicePipeline, siteLimit, uncountedLimit } from '../app.ts'
import { type Backends, callAssertionStage } from '../backends/index.ts'
import { bankingDomains } from '../banking/index.ts'
import { type Configuration, portalNames } from '../config/index.ts'
import type { Catalogue } from '../contract/index.ts'
import { isDatabaseUnavailable } from '../database/index.ts'
import {
  type AdditionalPortal,
  auditContextOfCall,
  auditSubjectOf,
  buildSecurityHeaders,
  type ClosedSocket,
  createAccessCache,
  createAllowedOrigins,
  createClientResolver,
  createCors,
  createErrorHandler,
  createPageLog,
  createProviderPages,
  createRequestHandler,
  createRequestLog,
  createResponseWriter,
  createRouter,
  createSessionCookies,
  createSiteHandler,
  createSocketLog,
  type FinishedRequest,
  type LogSettings,
  type OpenStreams,
  offerCheck,
  type ProviderPages,
  payoutHoldStage,
  type Sites,
  type Stage,
  type Tracing,
  withSiteSockets,
} from '../gateway/index.ts'
import type { Call } from '../gateway/pipeline/call.ts'
import type { AuthenticationPort, ChannelPort, LimitPort, WorkspacePort } from '../gateway/pipeline/ports.ts'
import { assertionType, type Identity } from '../identity/index.ts'
import {
  type AnyHandler,
  type Code,
  createChainFinder,
  domainOf,
  type HandlerTable,
  Refusal,
  thenSync,
} from '../kernel/index.ts'
import { recordRefusal } from '../platform/audit/index.ts'
import { isBlobStoreUnavailable } from '../platform/blobs/index.ts'
import { RequestProofs } from '../platform/proofs/index.ts'
import { isRedisUnavailable } from '../platform/redis/index.ts'
import { recordPlace, ServiceCommands } from '../platform/service-commands/index.ts'
import { createSocketMetrics, type Metrics, type PerimeterMetrics } from '../platform/telemetry/index.ts'
import type { Process } from '../platform/tracing/index.ts'
import type { Domains } from './domains.ts'
import { leaseOf } from './identity.ts'
import type { Infrastructure } from './infrastructure.ts'
import type { TrialParts } from './operations/trials.ts'
import type { PassThrough } from './pass-through.ts'
import { referencePages } from './portals/reference-pages.ts'

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
  additional: readonly AdditionalPortal[]
  passThrough: readonly PassThrough[]
  trials: TrialParts
  /** Null in a domain service. */
  sites: Sites | null
  /** In logs. */
  self: Process
}

const refuseApiKeys: AuthenticationPort['apiKey'] = async () => {
  throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the domain apiKeys is off' })
}

const noWorkspaces: WorkspacePort = { enter: refuseWorkspaces, stay: refuseWorkspaces, identify: refuseWorkspaces }

export function buildPipeline(
  {
    catalogue,
    isGateway,
    settings,
    infrastructure,
    logger,
    metrics,
    perimeter,
    identity,
    domains,
    additional,
    trials,
    self,
  }: Parts,
  backends: Backends,
  streams: OpenStreams,
  tracing: Tracing | null,
): Pipeline {
  return isGateway
    ? gatewayPipeline({
        settings,
        tracing,
        assertOffered: offerCheck(additional),
        limits: withLimitMetrics(infrastructure.limits, perimeter),
        channel: withChannelMetrics(identity.channel, perimeter),
        authentication: {
          ...identity.authentication,
          apiKey: authenticateApiKeys(domains, infrastructure),
        },
        stepUps: identity.stepUps,
        access: createAccessCache(domains.service('members') ?? noWorkspaces, infrastructure.clock, leaseOf(settings)),
        backends,
        recorded: {
          commands: new ServiceCommands(infrastructure),
          isRecorded: ({ id }) => domains.remoteOperations.has(id),
          timeoutMsOf: (operation) =>
            Math.max(
              backends.backendOf(operation).timeoutMs ?? 0,
              backends.trialOf(operation)?.canary?.backend.timeoutMs ?? 0,
            ),
          onReplayed: metrics.commandReplayed,
        },
        trials: {
          countCanary: trials.metrics.countCanary,
          recordPlace: (command, place) =>
            recordPlace(infrastructure.database, command, place, infrastructure.clock.now()),
        },
        streams,
        cookies: createSessionCookies(settings),
        origins: createAllowedOrigins(settings),
        durations: infrastructure.durations,
        onSocketClosed: createSocketReport(logger, { ...self, ...settings.log }, metrics),
        onTransferRefused: () => perimeter.limitHit('open-transfers'),
        payoutHold: holdPayouts(catalogue, infrastructure, domains),
      })
    : servicePipeline({
        settings,
        tracing,
        backends,
        streams,
        durations: infrastructure.durations,
        callAssertion: callAssertionStage(
          { ...settings.tokens, type: assertionType, ...settings.assertion },
          infrastructure.clock,
        ),
      })
}

export function createDraining(): { start(): void; isDraining(): boolean } {
  let draining = false
  return {
    start: () => {
      draining = true
    },
    isDraining: () => draining,
  }
}

export function portalApp(
  {
    isGateway,
    catalogue,
    settings,
    infrastructure,
    logger,
    metrics,
    perimeter,
    identity,
    domains,
    additional,
    passThrough,
    sites,
    self,
  }: Parts,
  pipeline: Pipeline,
  tracing: Tracing | null,
  onFinished: (finished: FinishedRequest) => void,
) {
  const { clock, ids, words } = infrastructure
  const { downloadStallMs, downloadBytesPerSecond } = settings.requests
  const responses = createResponseWriter({
    clock,
    words,
    catalogue,
    cookies: isGateway ? createSessionCookies(settings) : null,
    securityHeaders: isGateway ? { ...buildSecurityHeaders(), vary: 'Origin' } : buildSecurityHeaders(),
    includesField: !isGateway,
    includesHint: isGateway && settings.profile === 'development',
    // The gateway detects slow clients of a domain service.
    downloadPace: isGateway ? { stallMs: downloadStallMs, bytesPerSecond: downloadBytesPerSecond } : null,
  })
  const router = createRouter(
    isGateway ? catalogue.operations : catalogue.operations.filter(({ id }) => domains.handlers.has(id)),
    passThrough.map(({ route }) => route),
    isGateway ? additional : [],
  )
  const findChain = createChainFinder(additional)
  const stages = Object.values(pipeline)
  const logSettings = { ...self, ...settings.log }
  const logRequest = createRequestLog(logger, catalogue, logSettings)
  const log = (finished: FinishedRequest): void => {
    logRequest(finished)
    onFinished(finished)
    tracing?.endSpan(finished)
    if (isGateway) auditDenial(infrastructure, finished)
  }
  const isUnavailable = (error: unknown): boolean =>
    isDatabaseUnavailable(error) || isRedisUnavailable(error) || isBlobStoreUnavailable(error)
  const limits = withLimitMetrics(infrastructure.limits, perimeter)
  const { upgrades, admitToPage, ...requestHandler } = createRequestHandler({
    router,
    findChain,
    stages,
    // The gateway has already counted the requests of a domain service.
    limitUncounted: isGateway ? uncountedLimit({ settings, limits }) : () => undefined,
    responses,
    cors: isGateway ? createCors(createAllowedOrigins(settings), findChain) : null,
    clock,
    ids,
    metrics,
    log,
    isUnavailable,
  })
  const limitSite = siteLimit({ settings, limits })
  const pages = isGateway
    ? referencePages({ catalogue, settings, infrastructure, sites, additional }, admitToPage)
    : null
  const app = createApp({
    ...requestHandler,
    pageLog: createPageLog(logger, logSettings),
    providers: isGateway ? providerPages({ settings, identity, infrastructure, perimeter, admit: admitToPage }) : null,
    pages,
    sites:
      sites &&
      createSiteHandler(sites, (request, response, portal) => admitToPage(request, response, limitSite(portal))),
    errorHandler: createErrorHandler(responses, logger, findChain),
  })
  return { app, upgrades: sites ? withSiteSockets(upgrades, sites) : upgrades }
}

/** The refusals that `auditsRefusals` adds. */
const auditedOnDemand: ReadonlySet<Code> = new Set<Code>(['ACCESS.STEP_UP_REQUIRED', 'ACCESS.RATE_LIMITED'])

export function withLimitMetrics(limits: LimitPort, metrics: PerimeterMetrics): LimitPort {
  return {
    addressKey: limits.addressKey,
    networkKey: limits.networkKey,
    admit: (spend) => {
      const result = limits.admit(spend)
      if (!result.allowed) metrics.limitHit(spend.name)
      return result
    },
    spendAll: (spends) =>
      thenSync(limits.spendAll(spends), (results) => {
        for (const [index, { allowed }] of results.entries()) if (!allowed) metrics.limitHit(spends[index]?.name ?? '')
        return results
      }),
  }
}

export function withChannelMetrics(channel: ChannelPort, metrics: PerimeterMetrics): ChannelPort {
  return {
    sealer: channel.sealer,
    open: (sealed) =>
      thenSync(channel.open(sealed), (opened) => {
        metrics.channelBody(opened ? 'opened' : 'refused')
        return opened
      }),
  }
}

export function withChannelSessionMetrics(handlers: HandlerTable, metrics: PerimeterMetrics): HandlerTable {
  const counted =
    (handler: AnyHandler, done: 'opened' | 'closed'): AnyHandler =>
    async (request) => {
      try {
        const reply = await handler(request)
        metrics.channelSession(done)
        return reply
      } catch (error) {
        if (done === 'opened') metrics.channelSession('refused')
        if (error instanceof Refusal && error.detail.limit) metrics.limitHit(error.detail.limit.name)
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

function authenticateApiKeys(domains: Domains, { cache }: Infrastructure): AuthenticationPort['apiKey'] {
  const authenticate = domains.service('apiKeys')?.authenticate
  if (!authenticate) return refuseApiKeys
  const proofs = new RequestProofs(cache)
  return ({ facts, ...credential }) =>
    authenticate({
      ...credential,
      ...(facts && {
        verifyAssertion: (assertion, key) => proofs.verifyAssertion(assertion, key, facts),
        certificateThumbprint: () => facts.certificateThumbprint(),
      }),
    })
}

/** `assertPresent` allows no operation with a workspace then. */
async function refuseWorkspaces(): Promise<never> {
  throw new Error('the domain members is missing')
}

function createSocketReport(
  logger: Logger,
  settings: LogSettings,
  { registry }: Metrics,
): (closed: ClosedSocket) => void {
  const log = createSocketLog(logger, settings)
  const countBytes = createSocketMetrics(registry)
  return (closed) => {
    log(closed)
    countBytes(closed.call.operation.id, closed)
  }
}

function holdPayouts(
  { operations, permissionTable }: Catalogue,
  { database }: Infrastructure,
  domains: Domains,
): Stage {
  const ours = new Set(bankingDomains.map(({ name }) => name))
  const payouts = new Set<unknown>(permissionTable.workspace.filter(({ isPayout }) => isPayout).map(({ code }) => code))
  const held = new Set(
    operations
      .filter(({ id, method, policy }) => method !== 'GET' && payouts.has(policy.permission) && !ours.has(domainOf(id)))
      .map(({ id }) => id),
  )
  return payoutHoldStage(
    ({ id }) => held.has(id),
    (member, permission, at) =>
      domains.requireService('members').memberships.assertNotHeld(database, member, [permission], at),
  )
}

function auditDenial(
  { database, background }: Pick<Infrastructure, 'database' | 'background'>,
  { call, refusal }: FinishedRequest,
): void {
  if (!refusal || !call?.caller || call.isRefusalRecorded || !isAudited(call, refusal.code)) return
  const auditContext = auditContextOfCall(call)
  const on = { ...auditSubjectOf(call), detail: { reason: refusal.code } }
  background.run('audit-refused', () => recordRefusal(database, auditContext, on))
}

/** Refused reads appear only in the request log. */
function isAudited({ method, operation }: Call, code: Code): boolean {
  return code === 'ACCESS.PERMISSION_DENIED' || code === 'ACCESS.PASSKEY_REQUIRED'
    ? method !== 'GET' && method !== 'HEAD'
    : operation.auditsRefusals === true && auditedOnDemand.has(code)
}

function providerPages({
  settings,
  identity,
  infrastructure,
  perimeter,
  admit,
}: Pick<Parts, 'settings' | 'identity' | 'infrastructure' | 'perimeter'> & Pick<ProviderPages, 'admit'>) {
  return createProviderPages({
    admit,
    portals: portalNames(settings.portals),
    pagesOf: identity.providerPages,
    resolveClient: createClientResolver(settings.portals),
    endSessions: async (notice) => {
      try {
        await identity.endSessionsByProvider({ ...notice, requestId: infrastructure.ids.next() })
        perimeter.providerLogout('accepted')
      } catch (error) {
        const isRefused = error instanceof Refusal && error.code === 'AUTH.PROVIDER_REFUSED'
        perimeter.providerLogout(isRefused ? 'refused' : 'unavailable')
        throw error
      }
    },
  })
}
