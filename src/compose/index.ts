/*
 * The composition: builds every part of a process once and wires them together. Start with `compose` at the end of this
 * file. `infrastructure.ts` opens the stores, `domains.ts` and `identity.ts` build the handlers, `jobs.ts` starts the
 * background work. Nothing else chooses implementations.
 */
import type { Server } from 'node:http'
import type { Logger } from 'pino'
import { createBackends, createUpstreamMetrics } from '../backends/index.ts'
import type { Configuration } from '../config/index.ts'
import {
  buildSecurityHeaders,
  createExplainLog,
  createHttpServer,
  createOperationsApp,
  createParseErrorLog,
  loadTracing,
} from '../gateway/index.ts'
import { outboxPage } from '../platform/mail/index.ts'
import {
  createApprovalMetrics,
  createBackgroundMetrics,
  createLedgerMetrics,
  createMetrics,
  createPerimeterMetrics,
  createQueueMetrics,
} from '../platform/telemetry/index.ts'
import { findUnservedOperations } from './catalogue.ts'
import { composeDomains } from './domains.ts'
import { assertBackends, catalogueOf } from './extensions.ts'
import { composeIdentity } from './identity.ts'
import { openInfrastructure } from './infrastructure.ts'
import { startJobs } from './jobs.ts'
import { watchLedger } from './ledger-readiness.ts'
import type { Loaded } from './loading.ts'
import { buildPipeline, createDraining, type Parts, portalApp, withChannelSessionMetrics } from './portal.ts'
import { assertNoSeededAccounts, composeSeed } from './seed.ts'

const roles = ['gateway', 'domains'] as const
export type Role = (typeof roles)[number]
export const isRole = (value: unknown): value is Role => roles.some((role) => role === value)

/** A composed process that does not listen yet. */
export interface Deployment {
  portal: Server
  operations: Server
  /** Operations without a handler in this process. */
  unserved: string[]
  /** Moves the domains to the backends of the changed configuration. */
  replaceBackends(settings: Configuration): Promise<void>
  /** Fails readiness and sends `Connection: close` from now on. */
  startDraining(): void
  /** Resolves with the reason once the embedded store has failed and the process must restart. */
  onFatal: Promise<Error>
  close(): Promise<void>
}

/** Registers the metrics that read their value from a part when they are scraped. */
const createMetricsOfParts = ({ infrastructure, logger, metrics, identity, domains }: Parts): void => {
  createApprovalMetrics(metrics.registry, {
    count: domains.requireService('operators').countPendingApprovals,
    clock: infrastructure.clock,
    onFault: (error) => logger.warn({ err: error }, 'pending approvals could not be counted'),
  })
  createBackgroundMetrics(metrics.registry, infrastructure.background.dropped)
  createQueueMetrics(metrics.registry, {
    ...identity.queueLengths,
    'password-hash': infrastructure.passwords.waiting,
    database: infrastructure.waitingForDatabase,
  })
}

/**
 * Returns the settings of the process. A domain service uses the configuration file of the gateways, but serves all
 * domains itself.
 */
const withLocalBackends = (isGateway: boolean, settings: Configuration): Configuration =>
  isGateway ? settings : { ...settings, backends: { default: 'in-process' } }

const buildBackends = ({
  isGateway,
  catalogue,
  settings,
  infrastructure,
  metrics,
  perimeter,
  identity,
  domains,
}: Parts) =>
  createBackends({
    identity: isGateway ? withChannelSessionMetrics(identity.handlers, perimeter) : new Map(),
    domains: domains.handlers,
    settings: withLocalBackends(isGateway, settings),
    signer: identity.signer,
    clock: infrastructure.clock,
    metrics: createUpstreamMetrics(metrics.registry),
    catalogue,
  })

/**
 * Returns the operations without a handler in this process. Logs a warning for those that no upstream serves either.
 */
const findUnserved = ({ isGateway, catalogue, settings, logger, identity, domains }: Parts): string[] => {
  const unserved = catalogue.operations
    .map(({ id }) => id)
    .filter((id) => !identity.handlers.has(id) && !domains.handlers.has(id))
  const withoutBackend = isGateway ? findUnservedOperations(catalogue, unserved, settings) : unserved
  if (withoutBackend.length > 0) logger.warn({ operations: withoutBackend }, 'operations without a handler or backend')
  return unserved
}

/** Opens the infrastructure and builds identity and the domains; `building` disposes of them in reverse order. */
const composeParts = async (
  loaded: Loaded,
  settings: Configuration,
  role: Role,
  logger: Logger,
  building: AsyncDisposableStack,
): Promise<Parts> => {
  const isGateway = role === 'gateway'
  const catalogue = catalogueOf(loaded.domains)
  if (isGateway) assertBackends(loaded.domains, catalogue, settings)
  const infrastructure = await openInfrastructure(settings, catalogue, loaded, !isGateway, logger, building)
  const metrics = createMetrics()
  const perimeter = createPerimeterMetrics(metrics.registry)
  // Identity and the domains need each other: registration opens workspaces, and operators end sessions.
  const identity = await composeIdentity(settings, infrastructure, logger, (tx, opening) =>
    domains.requireService('workspaces').openWithWallets(tx, opening),
  )
  const domains = await composeDomains(loaded.domains, catalogue, settings, infrastructure, logger, identity)
  building.defer(() => domains.close())
  return { isGateway, catalogue, settings, infrastructure, logger, metrics, perimeter, identity, domains }
}

/** Builds every part once, in order; `close` disposes of them in reverse order. A failed start disposes of what it built. */
export const compose = async (
  loaded: Loaded,
  settings: Configuration,
  role: Role,
  logger: Logger,
): Promise<Deployment> => {
  await using building = new AsyncDisposableStack()
  const parts = await composeParts(loaded, settings, role, logger, building)
  const { isGateway, catalogue, infrastructure, metrics, perimeter, identity, domains } = parts
  createMetricsOfParts(parts)
  if (settings.profile === 'production') await assertNoSeededAccounts(infrastructure)
  else if (isGateway) await composeSeed(catalogue, infrastructure, identity, domains)
  const backends = await buildBackends(parts)
  building.defer(() => backends.close())
  const tracing = settings.tracing.enabled ? await loadTracing() : null
  const pipeline = buildPipeline(parts, backends, tracing)
  const explain = createExplainLog(infrastructure.clock, Object.keys(pipeline), settings.explain)
  building.defer(() => explain.close())
  const app = portalApp(parts, pipeline, explain, tracing)
  const unserved = findUnserved(parts)
  const ledgerReadiness = watchLedger({
    ledger: domains.ledger,
    logger,
    metrics: createLedgerMetrics(metrics.registry),
  })
  building.defer(() => ledgerReadiness.close())
  const draining = createDraining()
  const operations = createOperationsApp({
    probes: [...infrastructure.probes, { name: 'ledger', check: ledgerReadiness.check }],
    isDraining: draining.isDraining,
    metrics,
    explain: explain.explain,
    jwks: identity.jwks,
    outbox: infrastructure.outbox && outboxPage(infrastructure.outbox),
    securityHeaders: buildSecurityHeaders(),
    logger,
  })
  await startJobs(
    { settings, infrastructure, logger, registry: metrics.registry, isGateway, identity, domains },
    building,
  )
  const listening = {
    settings: settings.requests,
    isTuned: settings.runtime.tuning === 'on',
    isDraining: draining.isDraining,
    onParseError: createParseErrorLog(logger, perimeter.malformedRequest),
  }
  const built = building.move()
  return {
    portal: createHttpServer({ app, ...listening }),
    operations: createHttpServer({ app: operations, ...listening }),
    unserved,
    replaceBackends: async (changed) => {
      if (isGateway) assertBackends(loaded.domains, catalogue, changed)
      await backends.replace(withLocalBackends(isGateway, changed))
    },
    startDraining: draining.start,
    onFatal: infrastructure.storeFailure,
    close: () => built.disposeAsync(),
  }
}
