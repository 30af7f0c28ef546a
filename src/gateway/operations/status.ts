import type { Metric, Registry } from 'prom-client'
import type { z } from 'zod'
import { type Clock, type Instant, toIso } from '../../kernel/index.ts'
import type { Replicas } from '../../platform/replicas.ts'
import { type Probe, runProbe } from './probes.ts'
import { ReplicaStatus, type SharedStatus, type Status } from './status-schema.ts'

/** Less than `gatherTimeoutMs`, so that a replica whose database hangs still answers. */
const probeTimeoutMs = 1_000

const circuitStates = ['closed', 'half open', 'open'] as const

export interface ReplicaParts {
  version: string
  role: 'gateway' | 'domains'
  startedAt: Instant
  probes: readonly Probe[]
  isDraining(): boolean
  registry: Registry
  clock: Clock
}

/** The state of this process. */
export async function readReplicaStatus({
  version,
  role,
  startedAt,
  probes,
  isDraining,
  registry,
  clock,
}: ReplicaParts): Promise<z.input<typeof ReplicaStatus>> {
  const results = await Promise.all(probes.map((probe) => runProbe(probe, probeTimeoutMs)))
  const draining = isDraining()
  const ready = results.every(({ state }) => state !== 'failed')
  const circuits = await samplesOf(registry, 'portico_upstream_breaker_state')
  const queues = await samplesOf(registry, 'portico_waiting')
  const [skew] = await samplesOf(registry, 'portico_clock_skew_seconds')
  const [lag] = await samplesOf(registry, 'portico_nodejs_eventloop_lag_p99_seconds')
  const { rss, heapUsed } = process.memoryUsage()
  return {
    version,
    role,
    startedAt: toIso(startedAt),
    uptimeSeconds: Math.max(0, Math.round((clock.now() - startedAt) / 1_000)),
    readiness: draining ? 'draining' : ready ? 'ready' : 'unready',
    checks: Object.fromEntries(results.map(({ name, state }) => [name, state])),
    reasons: Object.fromEntries(results.flatMap(({ name, reason }) => (reason === undefined ? [] : [[name, reason]]))),
    backends: Object.fromEntries(
      circuits.map(({ labels, value }) => [String(labels.upstream), circuitStates[value] ?? 'open']),
    ),
    queues: Object.fromEntries(queues.map(({ labels, value }) => [String(labels.queue), value])),
    clockSkewSeconds: skew?.value ?? 0,
    memoryBytes: { rss, heapUsed },
    eventLoopLagSeconds: lag?.value ?? 0,
  }
}

export interface SharedParts {
  registry: Registry
  /** The last check of the ledger, or undefined without one. */
  ledgerCheck(): Promise<SharedStatus['ledger']>
  auditHead(): Promise<SharedStatus['auditHead']>
  /** Background jobs in the store. */
  jobs(): Promise<NonNullable<SharedStatus['jobs']>>
}

/** Null for what the store did not answer in time. */
export async function readSharedStatus({ registry, ...store }: SharedParts): Promise<SharedStatus> {
  const [ledger, auditHead, jobs] = await Promise.all([
    withinTime(store.ledgerCheck()),
    withinTime(store.auditHead()),
    withinTime(store.jobs()),
  ])
  const gauge = async (name: string) => (await samplesOf(registry, name))[0]?.value ?? null
  return {
    ledger,
    auditHead,
    jobs,
    eventsLagSeconds: await gauge('portico_events_lag_seconds'),
    webhookDeliveriesWaiting: await gauge('portico_webhook_deliveries_waiting'),
  }
}

export const statusQuestion = 'status'

/** Asks all replicas. */
export async function gatherStatus(replicas: Replicas, shared: () => Promise<SharedStatus>): Promise<Status> {
  const [{ answers, missing }, store] = await Promise.all([replicas.gather(statusQuestion, ''), shared()])
  const known = answers.flatMap(({ replica, result }) => {
    const parsed = ReplicaStatus.safeParse(result)
    return parsed.success ? [{ replica, ...parsed.data }] : []
  })
  const verifications = known.flatMap(({ auditVerified }) => auditVerified ?? [])
  const audit = verifications.toSorted((one, other) => other.at.localeCompare(one.at))[0] ?? null
  const absent = missing.map(({ replica, lastSeenAt }) => ({ replica, lastSeenAt: toIso(lastSeenAt) }))
  // Replicas ask each other over Redis.
  const isWithoutRedis = known.some(({ checks }) => checks.cache === 'failed')
  const silence = isWithoutRedis ? 'cannot be asked while Redis does not answer' : 'does not answer'
  const problems = [
    ...known.flatMap(({ replica, readiness, checks, backends, trials }) => [
      ...(readiness === 'unready' ? [`${replica} is not ready: ${failedOf(checks)}`] : []),
      ...limitationsOf({ checks, backends }).map((limitation) => `${replica}: ${limitation}`),
      ...returnedCanaries(trials ?? []).map((url) => `${replica}: the canary ${url} has returned`),
    ]),
    ...absent.map(({ replica }) => `${replica} ${silence}`),
    ...(store.ledger && store.ledger.discrepancies > 0 ? [`the ledger is broken: ${store.ledger.brokenRule}`] : []),
    ...(audit?.intact === false ? ['the audit log is broken'] : []),
  ]
  return {
    isHealthy: problems.length === 0,
    problems,
    replicas: known.map(({ auditVerified: _, ...replica }) => replica),
    missing: absent,
    shared: { ...store, audit },
  }
}

function failedOf(checks: Readonly<Record<string, string>>): string {
  return Object.entries(checks)
    .flatMap(([name, state]) => (state === 'failed' ? [name] : []))
    .join(', ')
}

/** Of a replica that may be ready nevertheless. */
function limitationsOf({ checks, backends }: Pick<z.output<typeof ReplicaStatus>, 'checks' | 'backends'>): string[] {
  const limited = Object.entries(checks).filter(([, state]) => state !== 'ok' && state !== 'failed')
  const broken = Object.entries(backends).filter(([, state]) => state !== 'closed')
  return [
    ...limited.map(([name, state]) => `${name} is ${state}`),
    ...broken.map(([name, state]) => `the circuit of ${name} is ${state}`),
  ]
}

function returnedCanaries(trials: NonNullable<z.output<typeof ReplicaStatus>['trials']>): string[] {
  return trials.flatMap(({ canary }) => (canary?.isReturned ? [canary.url] : []))
}

async function samplesOf(registry: Registry, name: string) {
  // The registry does not know the labels of its metrics.
  const metric: Metric | undefined = registry.getSingleMetric(name)
  return metric ? (await metric.get()).values : []
}

async function withinTime<T>(work: Promise<T>): Promise<T | null> {
  const timeout = Promise.withResolvers<null>()
  const timer = setTimeout(timeout.resolve, probeTimeoutMs, null)
  try {
    return await Promise.race([work, timeout.promise])
  } catch {
    return null
  } finally {
    clearTimeout(timer)
  }
}
