/*
 * Builds every part of a process once and connects the parts. Start with `compose` at the end of this file.
 * `infrastructure.ts` opens the stores, `domains.ts` and `identity.ts` build the handlers, `jobs.ts` starts the
 * background work. Nothing else chooses implementations.
 */
import type { Server } from 'node:http'
import type { Logger } from 'pino'
import { copyToShadow, createBackends, createUpstreamMetrics, HandlerDeadline } from '../backends/index.ts'
import { operatorRoles } from '../banking/index.ts'
import { packageVersion } from '../config/env.ts'
import { type Configuration, portalNames, replaceLimits } from '../config/index.ts'
import { type Database, freeBytes } from '../database/index.ts'
import {
  createExplainLog,
  createHttpServer,
  createParseErrorLog,
  createReactionLog,
  createTraffic,
  loadTracing,
  OpenStreams,
  openSites,
  type Tracing,
} from '../gateway/index.ts'
import type { HandlerTable } from '../kernel/index.ts'
import { faultReport } from '../platform/dependency-log.ts'
import { replicaName } from '../platform/runtime/index.ts'
import {
  createApiKeyMetrics,
  createApprovalMetrics,
  createBackgroundMetrics,
  createBuildMetrics,
  createClockMetrics,
  createDiskMetrics,
  createExchangeMetrics,
  createLedgerMetrics,
  createMetrics,
  createPerimeterMetrics,
  createPoolMetrics,
  createQueueMetrics,
  createRedisMetrics,
  createRejectionReport,
  createStreamMetrics,
  createTrafficMetrics,
  createWebhookMetrics,
} from '../platform/telemetry/index.ts'
import { openTracing, type Process } from '../platform/tracing/index.ts'
import { startAuditExport } from './audit/export.ts'
import { findUnservedOperations } from './catalogue.ts'
import { composeDomains } from './domains.ts'
import { startSequencer } from './events/index.ts'
import type { Loaded } from './extensions.ts'
import { assertBackends, assertPresent, catalogueOf, withDomainLimits } from './extensions.ts'
import { composeIdentity, portalChains, purposePorts, ticketOperations } from './identity.ts'
import { openInfrastructure, type ProcessPorts } from './infrastructure.ts'
import { type JobPace, type RunJob, startJobs } from './jobs.ts'
import { findSplitLedger, splitLedgerWarning, watchLedger } from './ledger.ts'
import { composeObservations, composeOperations, composeReplicas } from './operations/index.ts'
import { composeTrials } from './operations/trials.ts'
import { operationsBelow, passThroughOf } from './pass-through.ts'
import { buildPipeline, createDraining, type Parts, portalApp, withChannelSessionMetrics } from './portal.ts'
import { additionalPortals, withPortals } from './portals/additional.ts'
import { assertNoSeededAccounts, composeSeed } from './seed.ts'
import { reportWeakenedRules } from './weakened-rules.ts'

const roles = ['gateway', 'domains'] as const
export type Role = (typeof roles)[number]
export function isRole(value: unknown): value is Role {
  return roles.some((role) => role === value)
}

/** Does not listen yet. */
export interface Deployment {
  portal: Server
  operations: Server
  /** Operations without a handler in this process. */
  unserved: string[]
  /** Replaces backends and limits. If it rejects, nothing has changed. */
  reload(settings: Configuration): Promise<void>
  /** From now on, readiness fails and responses contain `Connection: close`. */
  startDraining(): void
  /** Ends open streams and refuses new ones. */
  endStreams(): void
  /** Resolves with the reason once the embedded store has failed. The process must then restart. */
  onFatal: Promise<Error>
  database: Database
  runJob: RunJob
  reportRejection(reason: unknown): void
  close(): Promise<void>
}

/** If the start fails, disposes of the parts that were already built. */
export async function compose(
  loaded: Loaded,
  configured: Configuration,
  role: Role,
  logger: Logger,
  { pace, isWorker, ...ports }: Omit<ProcessPorts, 'logger' | 'spans'> & { pace: JobPace; isWorker: boolean },
): Promise<Deployment> {
  await using building = new AsyncDisposableStack()
  const self = { version: packageVersion(), replica: replicaName() }
  const spans = await openTracing(configured, self, logger)
  building.defer(() => spans?.close())
  const parts = await composeParts(loaded, configured, role, { logger, ...ports, spans, self }, building)
  const { isGateway, catalogue, settings, infrastructure, metrics, perimeter, identity, domains } = parts
  createMetricsOfParts(parts)
  if (isGateway) await startAuditExport(settings, infrastructure, { logger, registry: metrics.registry })
  if (settings.profile === 'production') {
    await assertNoSeededAccounts(infrastructure, settings)
    if (isGateway) await reportWeakenedRules(settings, loaded.domains, infrastructure, logger)
  } else if (isGateway) await composeSeed(catalogue, infrastructure, identity, domains, portalNames(settings.portals))
  const tracing = settings.tracing.enabled ? await loadTracing() : null
  const replicas = composeReplicas(parts, building)
  const observations = composeObservations(parts, replicas)
  const backends = await buildBackends(parts, observations, tracing)
  building.defer(() => backends.close())
  const streams = createStreams(parts)
  const pipeline = buildPipeline(parts, backends, streams, tracing)
  const isDevelopment = settings.profile === 'development'
  const explain = createExplainLog(infrastructure.clock, Object.keys(pipeline), settings.explain, isDevelopment)
  building.defer(() => explain.close())
  const reactions = createReactionLog(infrastructure.clock, settings.explain, isDevelopment)
  building.defer(() => reactions.close())
  const traffic = createTraffic(infrastructure.clock)
  const sequencer = await startSequencer({ ...parts, registry: metrics.registry }, building)
  const { app, upgrades } = portalApp(parts, pipeline, tracing, (finished) => {
    copyToShadow(backends, finished)
    explain.record(finished)
    traffic.record(finished)
    if (finished.call && finished.call.method !== 'GET') sequencer.wake()
  })
  const unserved = findUnserved(parts, observations)
  if (isGateway) warnOfSplitLedger(loaded, settings, logger)
  const ledgerReadiness = watchLedger({
    ledger: domains.ledger,
    onFault: faultReport(infrastructure, logger, 'result of the last ledger check could not be read'),
    metrics: createLedgerMetrics(metrics.registry),
  })
  building.defer(() => ledgerReadiness.close())
  const draining = createDraining()
  const operations = composeOperations({
    ...parts,
    replicas,
    probes: [...infrastructure.probes, { name: 'ledger', check: ledgerReadiness.check }],
    isDraining: draining.isDraining,
    isWorker,
    explain: (id) => [...explain.explain(id), ...reactions.explain(id)],
    requests: explain,
    traffic,
    trialStates: backends.trialStates,
  })
  const runJob = await startJobs(
    { ...parts, registry: metrics.registry, sources: sequencer.sources, onReaction: reactions.record, spans, pace },
    building,
  )
  const listening = {
    settings: settings.requests,
    isTuned: settings.runtime.tuning === 'on',
    isDraining: draining.isDraining,
    onParseError: createParseErrorLog(logger, perimeter.malformedRequest),
  }
  const portal = createHttpServer({ app, upgrades, ...listening })
  portal.on('connection', createTrafficMetrics(metrics.registry))
  const built = building.move()
  return {
    portal,
    // Envoy sends the name of its cluster, such as `outbound|9090||portico`.
    operations: createHttpServer({ app: operations, upgrades: null, anyHostPrefix: '/health/', ...listening }),
    unserved,
    reload: async (changed) => {
      if (isGateway) assertBackends(loaded.domains, catalogue, changed, domains.handlers)
      const withLimits = withDomainLimits(changed, catalogue)
      await backends.replace(withLocalBackends(isGateway, changed))
      replaceLimits(settings, withLimits)
      if (isGateway) warnOfSplitLedger(loaded, changed, logger)
    },
    startDraining: draining.start,
    endStreams: () => {
      streams.close()
      parts.sites?.close()
    },
    onFatal: infrastructure.storeFailure,
    database: infrastructure.database,
    runJob,
    reportRejection: createRejectionReport(logger, metrics.registry),
    close: () => built.disposeAsync(),
  }
}

/** `building` disposes of the parts in reverse order. */
export async function composeParts(
  loaded: Loaded,
  configured: Configuration,
  role: Role,
  ports: ProcessPorts & { self: Process },
  building: AsyncDisposableStack,
): Promise<Parts> {
  const { logger, durations } = ports
  const isGateway = role === 'gateway'
  const catalogue = withPortals(catalogueOf(loaded.domains), configured)
  const settings = withDomainLimits(configured, catalogue)
  const additional = additionalPortals(settings, catalogue)
  const chainsOf = portalChains(additional)
  if (isGateway) assertBackends(loaded.domains, catalogue, settings)
  const sites = isGateway
    ? openSites(settings, (parts) => logger.warn(parts, 'the content security policy blocks parts of a page'))
    : null
  const passThrough = isGateway ? passThroughOf(settings, catalogue) : []
  const operations = [...catalogue.operations, ...operationsBelow(passThrough)]
  assertPresent(loaded.domains, settings, operationsBelow(passThrough))
  const metrics = createMetrics()
  const { registry } = metrics
  createBuildMetrics(registry, { version: packageVersion(), role })
  const infrastructure = await openInfrastructure(
    settings,
    catalogue,
    loaded,
    !isGateway,
    { ...ports, registry },
    building,
  )
  const perimeter = createPerimeterMetrics(metrics.registry)
  // Identity and the domains depend on each other: registration opens workspaces, and operators end sessions.
  const identity = await composeIdentity(settings, infrastructure, {
    openWorkspace: async (tx, opening) => domains.service('workspaces')?.openWithWallets(tx, opening),
    findTicketOperation: ticketOperations(catalogue.operations, additional),
    chainsOf,
    purposes: purposePorts(operations, infrastructure.database, chainsOf, () => domains),
    suspendCredentials: (tx, account) => domains.hooks.accountRecovered(tx, account),
    permissionsOfRole: (role) => catalogue.operatorPermissions.filter((code) => operatorRoles[role]?.(code)),
    holdPayouts: async (tx, held) => domains.service('members')?.memberships.holdPayouts(tx, held),
    applyProviderRights: (tx, rights) => domains.requireService('proposals').applyProviderRights(tx, rights),
  })
  const domains = await composeDomains(loaded.domains, {
    catalogue,
    settings,
    infrastructure,
    logger,
    identity,
    deadline: new HandlerDeadline(settings.requests.handlerTimeoutMs, durations, logger, metrics.registry),
  })
  building.defer(() => domains.close())
  return {
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
    trials: composeTrials(infrastructure, logger, metrics.registry),
    sites,
    self: ports.self,
  }
}

function createMetricsOfParts({ settings, infrastructure, logger, metrics, identity, domains }: Parts): void {
  // Before the gauges that query the database. Otherwise, a scrape would count its own queries.
  createPoolMetrics(metrics.registry, infrastructure.databaseConnections)
  createQueueMetrics(metrics.registry, {
    ...identity.queueLengths,
    'password-hash': infrastructure.passwords.waiting,
    database: infrastructure.waitingForDatabase,
    'code-mails': infrastructure.waitingCodeMails,
    background: infrastructure.background.waiting,
  })
  const operators = domains.service('operators')
  if (operators)
    createApprovalMetrics(metrics.registry, {
      portals: portalNames(settings.portals),
      count: operators.countPendingApprovals,
      clock: infrastructure.clock,
      onFault: faultReport(infrastructure, logger, 'pending approvals could not be counted'),
    })
  const apiKeys = domains.service('apiKeys')
  if (apiKeys)
    createApiKeyMetrics(metrics.registry, {
      count: apiKeys.countExpiring,
      clock: infrastructure.clock,
      onFault: faultReport(infrastructure, logger, 'API keys could not be counted'),
    })
  const exchanges = domains.service('exchanges')
  if (exchanges)
    createExchangeMetrics(metrics.registry, {
      readGains: exchanges.readGains,
      clock: infrastructure.clock,
      onFault: faultReport(infrastructure, logger, 'exchange rates could not be read for metrics'),
    })
  const webhooks = domains.service('webhooks')
  if (webhooks)
    createWebhookMetrics(metrics.registry, {
      ...webhooks,
      clock: infrastructure.clock,
      onFault: faultReport(infrastructure, logger, 'webhooks could not be counted'),
    })
  createBackgroundMetrics(metrics.registry, infrastructure.droppedTasks)
  createClockMetrics(metrics.registry, () => infrastructure.clockSkew?.aheadMs() ?? 0)
  createRedisMetrics(metrics.registry, infrastructure.redisMemory)
  const usesDisk = settings.databaseUrl === null || settings.files.storage.kind === 'disk'
  createDiskMetrics(metrics.registry, usesDisk ? () => freeBytes(settings.dataDirectory) : null)
}

function buildBackends(parts: Parts, observations: HandlerTable, tracing: Tracing | null) {
  const { isGateway, catalogue, settings, infrastructure, logger, metrics, perimeter } = parts
  const { identity, domains, passThrough } = parts
  return createBackends({
    ofGateway: isGateway
      ? new Map([...withChannelSessionMetrics(identity.handlers, perimeter), ...observations])
      : new Map(),
    domains: domains.handlers,
    settings: withLocalBackends(isGateway, settings),
    signer: identity.signer,
    clock: infrastructure.clock,
    durations: infrastructure.durations,
    metrics: createUpstreamMetrics(metrics.registry, logger, infrastructure.dependencies),
    trials: parts.trials,
    startAttempt: tracing?.startAttempt,
    catalogue,
    prefixes: passThrough.map(({ route, place }) => ({ operationId: route.operation.id, place })),
  })
}

/** A domain service shares the configuration file of the gateways, but serves all domains itself. */
function withLocalBackends(isGateway: boolean, settings: Configuration): Configuration {
  return isGateway ? settings : { ...settings, backends: { default: 'in-process' } }
}

/** The open streams, with their metrics. */
function createStreams({ isGateway, settings, infrastructure, metrics, perimeter }: Parts): OpenStreams {
  // A domain service sends the streams of several gateways, which limit them.
  const unlimited = { maxPerAccount: Number.POSITIVE_INFINITY, maxPerAddress: Number.POSITIVE_INFINITY }
  return new OpenStreams({
    settings: isGateway ? settings.streams : { ...settings.streams, ...unlimited },
    addressKey: infrastructure.limits.addressKey,
    durations: infrastructure.durations,
    metrics: {
      ...createStreamMetrics(metrics.registry),
      countRefused: () => perimeter.limitHit('open-streams'),
    },
  })
}

function findUnserved(
  { isGateway, catalogue, settings, logger, identity, domains }: Parts,
  observations: HandlerTable,
): string[] {
  const unserved = catalogue.operations
    .map(({ id }) => id)
    .filter((id) => ![identity.handlers, observations, domains.handlers].some((handlers) => handlers.has(id)))
  const withoutBackend = isGateway ? findUnservedOperations(catalogue, unserved, settings) : unserved
  if (withoutBackend.length > 0) logger.warn({ operations: withoutBackend }, 'operations without a handler or backend')
  return unserved
}

/** The gateway cannot know whether a service uses the same database. */
function warnOfSplitLedger(
  { domains }: Pick<Loaded, 'domains'>,
  settings: Pick<Configuration, 'backends'>,
  logger: Logger,
): void {
  const places = findSplitLedger(domains, settings)
  if (places) logger.warn({ places }, splitLedgerWarning)
}
