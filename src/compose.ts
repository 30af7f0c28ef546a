import type { Server } from 'node:http'
import type { Logger } from 'pino'
import { createApp, type Doors, pipeline, servicePipeline, type Way } from './app.ts'
import { assertedCall, createBackends, createUpstreamMetrics } from './backends/index.ts'
import { watchBook } from './compose/book-watch.ts'
import { composeDomains } from './compose/domains.ts'
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
} from './gateway/index.ts'
import { assertionType } from './identity/index.ts'
import type { HandlerTable, Operation } from './kernel/index.ts'
import { blobsFault } from './platform/blobs/index.ts'
import { databaseFault } from './platform/database/index.ts'
import { outboxPage } from './platform/mail/index.ts'
import { redisFault } from './platform/redis/index.ts'
import {
  createApprovalMetrics,
  createBackgroundMetrics,
  createBookMetrics,
  createMetrics,
  createPerimeterMetrics,
  createQueueMetrics,
  type Metrics,
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
  close(): Promise<void>
}

interface Serving {
  role: Role
  settings: Configuration
  outside: Outside
  logger: Logger
  metrics: Metrics
  /** What hears of every request once it has been answered. */
  told: readonly ((finished: Finished) => void)[]
}

const portalApp = (
  { role, settings, outside, logger, metrics, told }: Serving,
  operations: readonly Operation[],
  way: Way,
  pages: Doors['pages'],
) => {
  const { clock, ids, words } = outside
  const isService = role === 'domains'
  const answers = createAnswers({
    clock,
    words,
    securityFields: securityHeaders(),
    asksForFields: isService,
    // The gateway before a service knows whether a client makes it wait.
    stallMs: isService ? 0 : settings.requests.downloadStallMs,
  })
  const router = createRouter(operations)
  const stages = Object.values(way)
  const log = (finished: Finished) => {
    for (const tell of told) tell(finished)
  }
  const isUnavailable = (error: unknown): boolean => databaseFault(error) || redisFault(error) || blobsFault(error)
  const door = createDoor({ router, stages, answers, clock, ids, metrics, log, refusalOf: refusalOf(isUnavailable) })
  return createApp({ ...door, pageLog: pageLog(logger), pages, fault: faultDoor(answers, logger) })
}

const domainOperations = (handlers: HandlerTable): Operation[] => catalogue.filter(({ id }) => handlers.has(id))

/** Builds every part once, in order; `close` takes them down in the reverse one. What fails half-way is taken down too. */
export const compose = async (settings: Configuration, role: Role, logger: Logger): Promise<Deployment> => {
  await using building = new AsyncDisposableStack()
  const outside = await openOutside(settings, role === 'domains', logger, building)
  const metrics = createMetrics()
  const perimeter = createPerimeterMetrics(metrics.registry)
  // Registration opens workspaces and operators end sessions: each is handed the other's way to do it.
  const identity = await composeIdentity(settings, outside, logger, (tx, opening) =>
    domains.workspaces.provide(tx, opening),
  )
  const domains = await composeDomains(settings, outside, logger, identity)
  building.defer(() => domains.apiKeys.settle())
  building.defer(() => domains.rates.close())
  const isGateway = role === 'gateway'
  createApprovalMetrics(metrics.registry, {
    count: domains.accountsAwaiting,
    clock: outside.clock,
    onFault: (error) => logger.warn({ err: error }, 'the accounts that wait for approval could not be counted'),
  })
  createBackgroundMetrics(metrics.registry, outside.background.givenUp)
  createQueueMetrics(metrics.registry, {
    ...identity.waiting,
    'password-hash': outside.passwords.waiting,
    database: outside.waitingForDatabase,
  })
  if (settings.profile === 'production') await refuseSeeded(outside)
  else if (isGateway) await composeSeed(outside, identity, domains)
  const backends = await createBackends({
    identity: isGateway ? meteredSessions(identity.handlers, perimeter) : new Map(),
    domains: domains.handlers,
    settings: isGateway ? settings : { ...settings, backends: { default: 'in-process' } },
    signer: identity.signer,
    clock: outside.clock,
    metrics: createUpstreamMetrics(metrics.registry),
  })
  building.defer(() => backends.close())
  const tracing = settings.tracing.enabled ? await loadTracing() : null
  const way = isGateway
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
  const served = isGateway ? catalogue : domainOperations(domains.handlers)
  const pages = isGateway ? referencePages({ document: () => composeReference(outside.words) }) : []
  const explain = createExplain(outside.clock, Object.keys(way), settings.explain)
  building.defer(() => explain.close())
  const told = [
    requestLog(logger),
    explain.record,
    ...(tracing ? [tracing.endSpan] : []),
    ...(isGateway ? [auditRefusedCommands(outside)] : []),
  ]
  const app = portalApp({ role, settings, outside, logger, metrics, told }, served, way, pages)
  const unserved = catalogue.map(({ id }) => id).filter((id) => !identity.handlers.has(id) && !domains.handlers.has(id))
  const nowhere = isGateway ? servedNowhere(unserved, settings) : unserved
  if (nowhere.length > 0) logger.warn({ operations: nowhere }, 'declared, and not served yet')
  const book = watchBook({ ledger: domains.ledger, logger, metrics: createBookMetrics(metrics.registry) })
  building.defer(() => book.close())
  let draining = false
  const operations = createOperationsApp({
    probes: [...outside.probes, { name: 'ledger', check: book.check }],
    isDraining: () => draining,
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
    isDraining: () => draining,
    onMalformed: noteMalformed(logger, perimeter.malformedRequest),
  }
  const parts = building.move()
  return {
    portal: guardServer({ app, ...listening }),
    operations: guardServer({ app: operations, ...listening }),
    unserved,
    replaceBackends: (changed) => backends.replace(changed),
    startDraining: () => {
      draining = true
    },
    close: () => parts.disposeAsync(),
  }
}
