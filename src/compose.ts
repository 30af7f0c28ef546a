import type { Server } from 'node:http'
import type { Logger } from 'pino'
import { createApp, pipeline, servicePipeline, type Way } from './app.ts'
import { assertedCall, type Backends, createBackends, createUpstreamMetrics } from './backends/index.ts'
import { watchBook } from './compose/book-watch.ts'
import { composeDomains, type Domains } from './compose/domains.ts'
import { composeIdentity } from './compose/identity.ts'
import { startJobs } from './compose/jobs.ts'
import { meteredChannel, meteredLimits, meteredSessions } from './compose/metered.ts'
import { type Outside, openOutside } from './compose/outside.ts'
import { composeReference } from './compose/reference.ts'
import { auditRefusedCommands } from './compose/refused-commands.ts'
import { composeSeed, refuseSeeded } from './compose/seed.ts'
import { servedNowhere } from './compose/unserved.ts'
import type { Configuration } from './config/index.ts'
import { catalogue } from './contract/index.ts'
import { isDatabaseUnavailable } from './database/index.ts'
import {
  createAnswers,
  createDoor,
  createExplain,
  createOperationsApp,
  createRouter,
  type Finished,
  faultDoor,
  guardServer,
  loadTracing,
  noteMalformed,
  pageLog,
  referencePages,
  refusalOf,
  rememberAccess,
  requestLog,
  securityHeaders,
  type Tracing,
} from './gateway/index.ts'
import { assertionType, type Identity } from './identity/index.ts'
import { isBlobStoreUnavailable } from './platform/blobs/index.ts'
import { outboxPage } from './platform/mail/index.ts'
import { isRedisUnavailable } from './platform/redis/index.ts'
import {
  createApprovalMetrics,
  createBackgroundMetrics,
  createLedgerMetrics,
  createMetrics,
  createPerimeterMetrics,
  createQueueMetrics,
  type Metrics,
  type PerimeterMetrics,
} from './platform/telemetry/index.ts'

const roles = ['gateway', 'domains'] as const
export type Role = (typeof roles)[number]
export const isRole = (value: unknown): value is Role => roles.some((role) => role === value)

export interface Deployment {
  portal: Server
  operations: Server
  /** Operations that are declared and have no handler in this process. */
  unserved: string[]
  /** Other places for the domains. */
  replaceBackends(settings: Configuration): Promise<void>
  /** From now on readiness fails, and every answer closes its connection. */
  startDraining(): void
  /** Comes, with why, when nothing can be served any more until the process is started again. */
  over: Promise<Error>
  close(): Promise<void>
}

/** What a process is built of before any of it serves. */
interface Parts {
  isGateway: boolean
  settings: Configuration
  outside: Outside
  logger: Logger
  metrics: Metrics
  perimeter: PerimeterMetrics
  identity: Identity
  domains: Domains
}

/** The measurements that ask a part how it stands. */
const measure = ({ outside, logger, metrics, identity, domains }: Parts): void => {
  createApprovalMetrics(metrics.registry, {
    count: domains.accountsAwaiting,
    clock: outside.clock,
    onFault: (error) => logger.warn({ err: error }, 'the accounts that wait for approval could not be counted'),
  })
  createBackgroundMetrics(metrics.registry, outside.background.dropped)
  createQueueMetrics(metrics.registry, {
    ...identity.waiting,
    'password-hash': outside.passwords.waiting,
    database: outside.waitingForDatabase,
  })
}

/** A domain service is told by the gateways' file, which places the domains at it: it serves them itself. */
const placed = (isGateway: boolean, settings: Configuration): Configuration =>
  isGateway ? settings : { ...settings, backends: { default: 'in-process' } }

const backendsOf = ({ isGateway, settings, outside, metrics, perimeter, identity, domains }: Parts) =>
  createBackends({
    identity: isGateway ? meteredSessions(identity.handlers, perimeter) : new Map(),
    domains: domains.handlers,
    settings: placed(isGateway, settings),
    signer: identity.signer,
    clock: outside.clock,
    metrics: createUpstreamMetrics(metrics.registry),
  })

const wayOf = (
  { isGateway, settings, outside, perimeter, identity, domains }: Parts,
  backends: Backends,
  tracing: Tracing | null,
): Way =>
  isGateway
    ? pipeline({
        settings,
        tracing,
        limits: meteredLimits(outside.limits, perimeter),
        channel: meteredChannel(identity.channel, perimeter),
        authentication: { ...identity.authentication, apiKey: domains.apiKeys.authenticate },
        access: rememberAccess(domains.workspaces.gate, outside.clock, {
          leaseMs: settings.access.leaseMs,
          shared: settings.databaseUrl !== null,
        }),
        backends,
      })
    : servicePipeline({
        settings,
        tracing,
        backends,
        assertedCall: assertedCall({ ...settings.tokens, type: assertionType, ...settings.assertion }, outside.clock),
      })

/** `told` is what hears of every request once it has been answered. */
const portalApp = (
  { isGateway, settings, outside, logger, metrics, domains }: Parts,
  way: Way,
  told: readonly ((finished: Finished) => void)[],
) => {
  const { clock, ids, words } = outside
  const answers = createAnswers({
    clock,
    words,
    securityFields: securityHeaders(),
    asksForFields: !isGateway,
    // The gateway before a service knows whether a client makes it wait.
    stallMs: isGateway ? settings.requests.downloadStallMs : 0,
  })
  const router = createRouter(isGateway ? catalogue : catalogue.filter(({ id }) => domains.handlers.has(id)))
  const stages = Object.values(way)
  const log = (finished: Finished) => {
    for (const tell of told) tell(finished)
  }
  const isUnavailable = (error: unknown): boolean =>
    isDatabaseUnavailable(error) || isRedisUnavailable(error) || isBlobStoreUnavailable(error)
  const door = createDoor({ router, stages, answers, clock, ids, metrics, log, refusalOf: refusalOf(isUnavailable) })
  const pages = isGateway ? referencePages(() => composeReference(words)) : null
  return createApp({ ...door, pageLog: pageLog(logger), pages, fault: faultDoor(answers, logger) })
}

/** The operations that are declared and have no handler in this process; those that nobody serves are warned of. */
const unservedOf = ({ isGateway, settings, logger, identity, domains }: Parts): string[] => {
  const unserved = catalogue.map(({ id }) => id).filter((id) => !identity.handlers.has(id) && !domains.handlers.has(id))
  const nowhere = isGateway ? servedNowhere(unserved, settings) : unserved
  if (nowhere.length > 0) logger.warn({ operations: nowhere }, 'declared, and not served yet')
  return unserved
}

/** Its own parts, once the outside is there. `building` takes down what it has begun. */
const composeParts = async (
  settings: Configuration,
  role: Role,
  logger: Logger,
  building: AsyncDisposableStack,
): Promise<Parts> => {
  const isGateway = role === 'gateway'
  const outside = await openOutside(settings, !isGateway, logger, building)
  const metrics = createMetrics()
  const perimeter = createPerimeterMetrics(metrics.registry)
  // Registration opens workspaces and operators end sessions: each is handed the other's way to do it.
  const identity = await composeIdentity(settings, outside, logger, (tx, opening) =>
    domains.workspaces.provide(tx, opening),
  )
  const domains = await composeDomains(settings, outside, logger, identity)
  building.defer(() => domains.apiKeys.settle())
  building.defer(() => domains.rates.close())
  return { isGateway, settings, outside, logger, metrics, perimeter, identity, domains }
}

/** Builds every part once, in order; `close` takes them down in the reverse one. What fails half-way is taken down too. */
export const compose = async (settings: Configuration, role: Role, logger: Logger): Promise<Deployment> => {
  await using building = new AsyncDisposableStack()
  const parts = await composeParts(settings, role, logger, building)
  const { isGateway, outside, metrics, perimeter, identity, domains } = parts
  measure(parts)
  if (settings.profile === 'production') await refuseSeeded(outside)
  else if (isGateway) await composeSeed(outside, identity, domains)
  const backends = await backendsOf(parts)
  building.defer(() => backends.close())
  const tracing = settings.tracing.enabled ? await loadTracing() : null
  const way = wayOf(parts, backends, tracing)
  const explain = createExplain(outside.clock, Object.keys(way), settings.explain)
  building.defer(() => explain.close())
  const app = portalApp(parts, way, [
    requestLog(logger),
    explain.record,
    ...(tracing ? [tracing.endSpan] : []),
    ...(isGateway ? [auditRefusedCommands(outside)] : []),
  ])
  const unserved = unservedOf(parts)
  const book = watchBook({ ledger: domains.ledger, logger, metrics: createLedgerMetrics(metrics.registry) })
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
    securityFields: securityHeaders(),
    logger,
  })
  await startJobs({ settings, outside, logger, registry: metrics.registry, isGateway, identity, domains }, building)
  const listening = {
    settings: settings.requests,
    isDraining,
    onMalformed: noteMalformed(logger, perimeter.malformedRequest),
  }
  const built = building.move()
  return {
    portal: guardServer({ app, ...listening }),
    operations: guardServer({ app: operations, ...listening }),
    unserved,
    replaceBackends: (changed) => backends.replace(placed(isGateway, changed)),
    startDraining: () => {
      draining = true
    },
    over: outside.storeIsOver,
    close: () => built.disposeAsync(),
  }
}
