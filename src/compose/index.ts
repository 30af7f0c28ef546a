/*
 * The composition: builds every part of a process once and wires them together. Start with `compose` at the end of this
 * file. `infrastructure.ts` opens the stores, `domains.ts` and `identity.ts` build the handlers, `jobs.ts` starts the
 * background work. Nothing else chooses implementations.
 */
import type { Server } from 'node:http'
import type { Logger } from 'pino'
import { createApp, gatewayPipeline, type Pipeline, servicePipeline, unmatchedLimit } from '../app.ts'
import { type Backends, callAssertionStage, createBackends, createUpstreamMetrics } from '../backends/index.ts'
import type { Configuration } from '../config/index.ts'
import { catalogue } from '../contract/index.ts'
import { isDatabaseUnavailable } from '../database/index.ts'
import {
  buildSecurityHeaders,
  createAccessCache,
  createErrorHandler,
  createExplainLog,
  createHttpServer,
  createOperationsApp,
  createPageLog,
  createParseErrorLog,
  createReferencePages,
  createRequestHandler,
  createRequestLog,
  createResponseWriter,
  createRouter,
  type FinishedRequest,
  loadTracing,
  type Tracing,
} from '../gateway/index.ts'
import { assertionType, type Identity } from '../identity/index.ts'
import { isBlobStoreUnavailable } from '../platform/blobs/index.ts'
import { outboxPage } from '../platform/mail/index.ts'
import { isRedisUnavailable } from '../platform/redis/index.ts'
import {
  createApprovalMetrics,
  createBackgroundMetrics,
  createLedgerMetrics,
  createMetrics,
  createPerimeterMetrics,
  createQueueMetrics,
  type Metrics,
  type PerimeterMetrics,
} from '../platform/telemetry/index.ts'
import { buildOpenApiDocument, findUnservedOperations } from './catalogue.ts'
import { composeDomains, type Domains } from './domains.ts'
import { composeIdentity } from './identity.ts'
import { type Infrastructure, openInfrastructure } from './infrastructure.ts'
import { startJobs } from './jobs.ts'
import { watchLedger } from './ledger-readiness.ts'
import { auditDenials, withChannelMetrics, withChannelSessionMetrics, withLimitMetrics } from './portal.ts'
import { assertNoSeededAccounts, composeSeed } from './seed.ts'

const roles = ['gateway', 'domains'] as const
export type Role = (typeof roles)[number]
export const isRole = (value: unknown): value is Role => roles.some((role) => role === value)

export interface Deployment {
  portal: Server
  operations: Server
  /** Declared operations without a handler in this process. */
  unserved: string[]
  /** Moves the domains to where the changed configuration places them. */
  replaceBackends(settings: Configuration): Promise<void>
  /** Fails readiness and sends `Connection: close` from now on. */
  startDraining(): void
  /** Resolves with the reason once the embedded store has failed and the process must restart. */
  onFatal: Promise<Error>
  close(): Promise<void>
}

/** The parts of a process before it serves. */
interface Parts {
  isGateway: boolean
  settings: Configuration
  outside: Infrastructure
  logger: Logger
  metrics: Metrics
  perimeter: PerimeterMetrics
  identity: Identity
  domains: Domains
}

/** Registers the metrics that read their value from a part when they are scraped. */
const createMetricsOfParts = ({ outside, logger, metrics, identity, domains }: Parts): void => {
  createApprovalMetrics(metrics.registry, {
    count: domains.accountsAwaiting,
    clock: outside.clock,
    onFault: (error) => logger.warn({ err: error }, 'the accounts that wait for approval could not be counted'),
  })
  createBackgroundMetrics(metrics.registry, outside.background.dropped)
  createQueueMetrics(metrics.registry, {
    ...identity.queueLengths,
    'password-hash': outside.passwords.waiting,
    database: outside.waitingForDatabase,
  })
}

/** A domain service shares the gateways' configuration file but serves the domains itself. */
const withLocalBackends = (isGateway: boolean, settings: Configuration): Configuration =>
  isGateway ? settings : { ...settings, backends: { default: 'in-process' } }

const buildBackends = ({ isGateway, settings, outside, metrics, perimeter, identity, domains }: Parts) =>
  createBackends({
    identity: isGateway ? withChannelSessionMetrics(identity.handlers, perimeter) : new Map(),
    domains: domains.handlers,
    settings: withLocalBackends(isGateway, settings),
    signer: identity.signer,
    clock: outside.clock,
    metrics: createUpstreamMetrics(metrics.registry),
  })

const buildPipeline = (
  { isGateway, settings, outside, perimeter, identity, domains }: Parts,
  backends: Backends,
  tracing: Tracing | null,
): Pipeline =>
  isGateway
    ? gatewayPipeline({
        settings,
        tracing,
        limits: withLimitMetrics(outside.limits, perimeter),
        channel: withChannelMetrics(identity.channel, perimeter),
        authentication: { ...identity.authentication, apiKey: domains.apiKeys.authenticate },
        access: createAccessCache(domains.members, outside.clock, {
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
          outside.clock,
        ),
      })

/** `listeners` are called after every response. */
const portalApp = (
  { isGateway, settings, outside, logger, metrics, perimeter, domains }: Parts,
  pipeline: Pipeline,
  listeners: readonly ((finished: FinishedRequest) => void)[],
) => {
  const { clock, ids, words } = outside
  const responses = createResponseWriter({
    clock,
    words,
    securityHeaders: buildSecurityHeaders(),
    includesField: !isGateway,
    // The gateway in front of a service detects slow clients.
    stallMs: isGateway ? settings.requests.downloadStallMs : 0,
  })
  const router = createRouter(isGateway ? catalogue : catalogue.filter(({ id }) => domains.handlers.has(id)))
  const stages = Object.values(pipeline)
  const log = (finished: FinishedRequest) => {
    for (const listener of listeners) listener(finished)
  }
  const isUnavailable = (error: unknown): boolean =>
    isDatabaseUnavailable(error) || isRedisUnavailable(error) || isBlobStoreUnavailable(error)
  const requestHandler = createRequestHandler({
    router,
    stages,
    // The gateway in front of a service has already counted the address.
    limitUnmatched: isGateway
      ? unmatchedLimit({ settings, limits: withLimitMetrics(outside.limits, perimeter) })
      : () => undefined,
    responses,
    clock,
    ids,
    metrics,
    log,
    isUnavailable,
  })
  const pages = isGateway ? createReferencePages(() => buildOpenApiDocument(words)) : null
  return createApp({
    ...requestHandler,
    pageLog: createPageLog(logger),
    pages,
    errorHandler: createErrorHandler(responses, logger),
  })
}

/** Declared operations without a handler in this process. Warns about those that no upstream serves either. */
const findUnserved = ({ isGateway, settings, logger, identity, domains }: Parts): string[] => {
  const unserved = catalogue.map(({ id }) => id).filter((id) => !identity.handlers.has(id) && !domains.handlers.has(id))
  const nowhere = isGateway ? findUnservedOperations(unserved, settings) : unserved
  if (nowhere.length > 0) logger.warn({ operations: nowhere }, 'declared, and not served yet')
  return unserved
}

/** Opens the infrastructure and builds identity and the domains; `building` disposes of them in reverse order. */
const composeParts = async (
  settings: Configuration,
  role: Role,
  logger: Logger,
  building: AsyncDisposableStack,
): Promise<Parts> => {
  const isGateway = role === 'gateway'
  const outside = await openInfrastructure(settings, !isGateway, logger, building)
  const metrics = createMetrics()
  const perimeter = createPerimeterMetrics(metrics.registry)
  // Identity and the domains need each other: registration opens workspaces, and operators end sessions.
  const identity = await composeIdentity(settings, outside, logger, (tx, opening) =>
    domains.workspaces.openWithWallets(tx, opening),
  )
  const domains = await composeDomains(settings, outside, logger, identity)
  building.defer(() => domains.apiKeys.settle())
  building.defer(() => domains.rates.close())
  return { isGateway, settings, outside, logger, metrics, perimeter, identity, domains }
}

/** Builds every part once, in order; `close` disposes of them in reverse order. A failed start disposes of what it built. */
export const compose = async (settings: Configuration, role: Role, logger: Logger): Promise<Deployment> => {
  await using building = new AsyncDisposableStack()
  const parts = await composeParts(settings, role, logger, building)
  const { isGateway, outside, metrics, perimeter, identity, domains } = parts
  createMetricsOfParts(parts)
  if (settings.profile === 'production') await assertNoSeededAccounts(outside)
  else if (isGateway) await composeSeed(outside, identity, domains)
  const backends = await buildBackends(parts)
  building.defer(() => backends.close())
  const tracing = settings.tracing.enabled ? await loadTracing() : null
  const pipeline = buildPipeline(parts, backends, tracing)
  const explain = createExplainLog(outside.clock, Object.keys(pipeline), settings.explain)
  building.defer(() => explain.close())
  const app = portalApp(parts, pipeline, [
    createRequestLog(logger),
    explain.record,
    ...(tracing ? [tracing.endSpan] : []),
    ...(isGateway ? [auditDenials(outside)] : []),
  ])
  const unserved = findUnserved(parts)
  const book = watchLedger({ ledger: domains.ledger, logger, metrics: createLedgerMetrics(metrics.registry) })
  building.defer(() => book.close())
  let draining = false
  const isDraining = () => draining
  const operations = createOperationsApp({
    probes: [...outside.probes, { name: 'ledger', check: book.check }],
    isDraining,
    metrics,
    explain: explain.explain,
    jwks: identity.jwks,
    outbox: outside.outbox && outboxPage(outside.outbox),
    securityHeaders: buildSecurityHeaders(),
    logger,
  })
  await startJobs({ settings, outside, logger, registry: metrics.registry, isGateway, identity, domains }, building)
  const listening = {
    settings: settings.requests,
    isDraining,
    onParseError: createParseErrorLog(logger, perimeter.malformedRequest),
  }
  const built = building.move()
  return {
    portal: createHttpServer({ app, ...listening }),
    operations: createHttpServer({ app: operations, ...listening }),
    unserved,
    replaceBackends: (changed) => backends.replace(withLocalBackends(isGateway, changed)),
    startDraining: () => {
      draining = true
    },
    onFatal: outside.storeIsOver,
    close: () => built.disposeAsync(),
  }
}
