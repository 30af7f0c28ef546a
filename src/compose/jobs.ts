import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { type Configuration, placeOf } from '../config/index.ts'
import { vacuum } from '../database/index.ts'
import type { ReactionRun } from '../gateway/index.ts'
import type { Identity } from '../identity/index.ts'
import { hours, minutes } from '../kernel/index.ts'
import { cleanupJobs, ledgerCheckJob, verifyLedger, verifyRecentChanges } from '../ledger/index.ts'
import { sealAuditLog } from '../platform/audit/index.ts'
import { faultReport } from '../platform/dependency-log.ts'
import { expiredEventCleanup } from '../platform/events/index.ts'
import {
  createJobRunner,
  declareJobKinds,
  failedJobCleanup,
  type JobKind,
  type JobSettings,
  queueFailureKind,
} from '../platform/jobs/index.ts'
import { partitionJob } from '../platform/partitions/index.ts'
import { expiredCommandCleanup } from '../platform/service-commands/index.ts'
import { createJobMetrics } from '../platform/telemetry/index.ts'
import type { ClientSpans } from '../platform/tracing/index.ts'
import { auditExportJobs } from './audit/export.ts'
import type { Domains } from './domains.ts'
import { explained } from './events/reactions.ts'
import type { Infrastructure } from './infrastructure.ts'

/** For this time, the hash chain does not protect a new entry. Each run costs one transaction. */
const sealEveryMs = 2_000

/** Checks ignore expired rows, so their deletion can wait. */
const identitySweepMs = minutes(10)

/** PGlite has no autovacuum. An hour of updates grows a table by megabytes. */
const vacuumEveryMs = hours(1)

/** They wait rather than work. Half of them are for receivers that were fast last time, so that slow ones delay no other. */
const outgoingWorkers = { concurrency: 16, longJobs: 8 }

/** How often jobs run, where a test does not wait for the actual interval. */
export interface JobPace {
  pollMs?: number
  /** By name of a recurring job. */
  everyMs?: Readonly<Record<string, number>>
}

interface Parts {
  settings: Configuration
  infrastructure: Infrastructure
  logger: Logger
  registry: Registry
  isGateway: boolean
  identity: Pick<Identity, 'deleteExpired' | 'jobs'>
  domains: Pick<Domains, 'jobs' | 'ledger'>
  /** Of changes that this process can turn into events. */
  sources: readonly string[]
  onReaction(run: ReactionRun): void
  spans: ClientSpans | null
  pace: JobPace
}

/** Runs one attempt at a job, whether or not it is due. Rejects with its error. */
export type RunJob = (name: string, payload: object) => Promise<void>

/** `stack` stops the jobs before it closes the parts that they use. */
export async function startJobs(parts: Parts, stack: AsyncDisposableStack): Promise<RunJob> {
  const { infrastructure, logger, registry } = parts
  const { everyMs: intervals = {}, ...poll } = parts.pace
  const kinds = kindsOf(parts).map((kind): JobKind => {
    const everyMs = intervals[kind.name] ?? kind.everyMs
    return everyMs === undefined ? kind : { ...kind, everyMs }
  })
  const reactions = reactionsOf(parts)
  declareJobKinds(infrastructure.database, allKindsOf(parts))
  const names = [...kinds, ...reactions.flat()].map(({ name }) => name)
  const metrics = createJobMetrics(registry, [queueFailureKind, ...names])
  const onQueueFailure = faultReport(infrastructure, logger, 'job failed', { kind: queueFailureKind })
  const start = async (own: readonly JobKind[], settings: JobSettings = {}): Promise<RunJob> => {
    const runner = createJobRunner({
      ...infrastructure,
      settings: { ...settings, ...poll },
      kinds: own.map((kind) => traced(kind, parts.spans)),
      // With a wrong clock, orders would expire too early.
      canRecur: () => infrastructure.clockSkew?.isWithin() ?? true,
      onFailure: ({ error, ...failure }) => {
        metrics.failed(failure.kind)
        if (failure.kind === queueFailureKind) onQueueFailure(error)
        else logger.warn({ ...failure, err: error }, 'job failed')
      },
      onDropped: ({ reason, ...job }) => {
        metrics.dropped(job.kind, reason)
        logger.warn({ ...job, reason }, 'job dropped')
      },
    })
    stack.defer(() => runner.stop())
    await runner.start()
    return runner.runNow
  }
  for (const own of reactions) await start(own)
  const outgoing = kinds.filter(({ workers }) => workers === 'outgoing')
  const runOutgoing = await start(outgoing, outgoingWorkers)
  const runOther = await start(kinds.filter(({ workers }) => workers === undefined))
  return (name, payload) => (outgoing.some((kind) => kind.name === name) ? runOutgoing : runOther)(name, payload)
}

/** Jobs that run every few seconds would make more traces than all requests. */
const minTracedIntervalMs = minutes(1)

function traced(kind: JobKind, spans: ClientSpans | null): JobKind {
  const { name, everyMs = minTracedIntervalMs, work } = kind
  if (!spans || everyMs < minTracedIntervalMs) return kind
  return { ...kind, work: (payload, job) => spans.inJobSpan(name, () => work(payload, job)) }
}

/** The reactions of each domain in this process. A slow or failing one must delay neither mails nor other domains. */
function reactionsOf({ settings, isGateway, domains, onReaction }: Parts): (readonly JobKind[])[] {
  return domains.jobs
    .filter(({ domain, reactions }) => reactions.length > 0 && isServedHere(domain, settings, isGateway))
    .map(({ domain, reactions }) => reactions.map((kind) => explained(kind, domain, onReaction)))
}

function isServedHere(domain: string, settings: Configuration, isGateway: boolean): boolean {
  return !isGateway || placeOf(settings, domain) === 'in-process'
}

/**
 * A domain's jobs run in the process of its handlers, because both need the same blobs and settings. Jobs that send
 * mail run in the gateway.
 */
function kindsOf({ settings, infrastructure, logger, isGateway, identity, domains, sources }: Parts): JobKind[] {
  const seal: JobKind['work'] = async (_payload, { signal }) => {
    await sealAuditLog(infrastructure.database, signal)
  }
  const sweep: JobKind['work'] = (_payload, { signal }) =>
    infrastructure.withoutTimeouts((database) => identity.deleteExpired(database, signal), signal)
  const tidy: JobKind['work'] = (_payload, { signal }) => vacuum(infrastructure.database, signal)
  return [
    { name: 'audit.seal', attempts: 1, everyMs: sealEveryMs, work: seal },
    ...(isGateway ? auditExportJobs(settings, infrastructure, logger) : []),
    partitionJob(infrastructure),
    failedJobCleanup({ ...infrastructure, ...settings.jobs }),
    expiredEventCleanup({
      ...infrastructure,
      ...settings.events,
      sources,
      onLost: (count) => logger.error({ count }, 'changes that never became events were deleted'),
    }),
    ...(settings.databaseUrl === null
      ? [{ name: 'database.vacuum', attempts: 1, everyMs: vacuumEveryMs, initialDelayMs: vacuumEveryMs, work: tidy }]
      : []),
    ...(isGateway
      ? [
          { name: 'identity.sweep', attempts: 1, everyMs: identitySweepMs, work: sweep },
          expiredCommandCleanup(infrastructure),
        ]
      : []),
    ...domains.jobs.flatMap(({ domain, jobs }) => (isServedHere(domain, settings, isGateway) ? jobs : [])),
    ...cleanupJobs(domains.ledger),
    ledgerCheckJob({
      ledger: domains.ledger,
      clock: infrastructure.clock,
      everyMs: settings.money.background.ledgerCheckMs,
      wholeEveryMs: settings.money.background.wholeLedgerCheckMs,
      verifyLedger: (signal, since) =>
        infrastructure.withoutTimeouts(
          (database) => (since === null ? verifyLedger(database) : verifyRecentChanges(database, since)),
          signal,
        ),
      onBroken: (broken) => logger.error(broken, 'ledger check failed'),
    }),
    ...(isGateway ? [...identity.jobs, ...domains.jobs.flatMap(({ gatewayJobs }) => gatewayJobs)] : []),
  ]
}

/** The kinds of all processes of the deployment. */
function allKindsOf({ identity, domains }: Parts): string[] {
  return [
    ...identity.jobs,
    ...domains.jobs.flatMap(({ jobs, reactions, gatewayJobs }) => [...jobs, ...reactions, ...gatewayJobs]),
  ].map(({ name }) => name)
}
