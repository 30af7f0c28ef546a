import type { Database } from '../../database/index.ts'
import { addMs, type Clock, type Ids, messageOf } from '../../kernel/index.ts'
import type { JobKind } from './job.ts'
import { deleteJob, type Lease, leaseJob, maxBackoffMs, renewLease, returnJob, upsertRecurringJob } from './store.ts'

/** Limits and intervals of a runner. Times are in milliseconds. */
export interface JobSettings {
  /** Maximum number of concurrent jobs in this process. */
  concurrency: number
  pollMs: number
  /** How long a job stays leased after its process was killed. */
  leaseMs: number
}

/** Runs due jobs in this process. */
export interface JobRunner {
  start(): Promise<void>
  /** Runs one due job. Returns false if none is due. */
  runOne(): Promise<boolean>
  /** Leases no more jobs, aborts the running ones, and waits for them to end. */
  stop(): Promise<void>
}

interface Ports {
  database: Database
  clock: Clock
  ids: Ids
  settings: JobSettings
  kinds: readonly JobKind[]
  onFailure(failure: { kind: string; jobId: string; attempt: number; error: unknown }): void
}

interface LeasedJob {
  kind: JobKind
  lease: Lease
}

/** The kind reported with a failure to read the queue, which belongs to no job. */
export const queueFailureKind = 'jobs'

/** Additional attempts if the process was killed: the job is usually not the cause. */
const maxKills = 5

/** Maximum length of the failure that is stored with a job, in characters. */
const maxFailureLength = 500

/** Grows by a factor of four from one second, up to five minutes. */
const backoffMs = (attempt: number): number => Math.min(1_000 * 4 ** (attempt - 1), maxBackoffMs)

/**
 * Renews a lease three times per lease duration until stopped. Calls `onLost` once another replica has taken the job, or
 * the lease has expired because the database was unavailable.
 */
const startLeaseRenewal = (
  { database, clock, settings }: Ports,
  lease: Lease,
  onLost: (reason: Error) => void,
): { stop(): Promise<void> } => {
  const { leaseMs } = settings
  let until = addMs(clock.now(), leaseMs)
  let renewing: Promise<void> = Promise.resolve()
  const renew = async (): Promise<void> => {
    const next = addMs(clock.now(), leaseMs)
    try {
      if (await renewLease(database, lease, next)) until = next
      else onLost(new Error('the lease was lost'))
    } catch (cause) {
      // The lease stays valid until it expires.
      if (clock.now() >= until) onLost(new Error('the lease could not be renewed', { cause }))
    }
  }
  const timer = setInterval(() => {
    renewing = renewing.then(renew)
  }, leaseMs / 3)
  return {
    stop: async () => {
      clearInterval(timer)
      await renewing
    },
  }
}

class Runner implements JobRunner {
  readonly #ports: Ports
  readonly #kinds: ReadonlyMap<string, JobKind>
  readonly #stopping = new AbortController()
  readonly #workers = new Set<Promise<unknown>>()
  #longJobs = 0
  #leasing: Promise<unknown> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  constructor(ports: Ports) {
    this.#ports = ports
    this.#kinds = new Map(ports.kinds.map((kind) => [kind.name, kind]))
  }

  async start(): Promise<void> {
    const { database, clock, ids, kinds, settings } = this.#ports
    const at = clock.now()
    for (const { name, everyMs, initialDelayMs = 0 } of kinds)
      if (everyMs !== undefined)
        await upsertRecurringJob(database, ids, { kind: name, everyMs, at, firstAt: addMs(at, initialDelayMs) })
    this.#timer = setInterval(() => this.#startWorker(), settings.pollMs)
  }

  async runOne(): Promise<boolean> {
    const job = await this.#leaseNext()
    if (!job) return false
    try {
      await this.#run(job)
    } finally {
      if (job.kind.isLong) this.#longJobs -= 1
    }
    return true
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopping.abort(new Error('the process is shutting down'))
    await Promise.all(this.#workers)
  }

  #startWorker(): void {
    if (this.#workers.size >= this.#ports.settings.concurrency || this.#kinds.size === 0) return
    const worker = this.#runAllDue()
    this.#workers.add(worker)
    void worker.finally(() => this.#workers.delete(worker))
  }

  async #runAllDue(): Promise<void> {
    try {
      while (!this.#stopping.signal.aborted && (await this.runOne()));
    } catch (error) {
      this.#ports.onFailure({ kind: queueFailureKind, jobId: '', attempt: 0, error })
    }
  }

  /** Workers lease jobs one after the other, so that each knows how many long jobs are running. */
  #leaseNext(): Promise<LeasedJob | undefined> {
    const leased = this.#leasing.then(() => this.#lease())
    this.#leasing = leased.catch(() => undefined)
    return leased
  }

  async #lease(): Promise<LeasedJob | undefined> {
    const { database, clock, ids, kinds, settings } = this.#ports
    const maxLongJobs = Math.max(1, settings.concurrency - 1)
    const eligible = kinds.filter(({ isLong }) => !isLong || this.#longJobs < maxLongJobs)
    if (eligible.length === 0) return undefined
    const lease = await leaseJob(database, {
      kinds: eligible.map(({ name }) => name),
      leaseId: ids.next<'lease'>(),
      at: clock.now(),
      leaseMs: settings.leaseMs,
    })
    const kind = lease && this.#kinds.get(lease.kind)
    if (kind?.isLong) this.#longJobs += 1
    return kind && { kind, lease }
  }

  async #run(job: LeasedJob): Promise<void> {
    const { kind, lease } = job
    const { jobId, attempt, payload } = lease
    const lost = new AbortController()
    const signal = AbortSignal.any([lost.signal, this.#stopping.signal])
    const renewal = startLeaseRenewal(this.#ports, lease, (reason) => lost.abort(reason))
    const killsProcesses = kind.everyMs === undefined && attempt > kind.attempts + maxKills
    let error: unknown = null
    try {
      if (killsProcesses) throw new Error('the process was killed during each attempt')
      await kind.work(payload, { jobId, attempt, signal })
    } catch (caught) {
      error = caught ?? new Error('failed')
    }
    await renewal.stop()
    if (!lost.signal.aborted) await this.#settle(job, error)
  }

  /** Deletes a job or schedules its next attempt. `error` is null after a success. */
  async #settle({ kind, lease }: LeasedJob, error: unknown): Promise<void> {
    const { database, clock, onFailure } = this.#ports
    const failure = error === null ? null : messageOf(error).slice(0, maxFailureLength)
    const { jobId, attempt, payload } = lease
    if (this.#stopping.signal.aborted && failure !== null)
      return returnJob(database, lease, { runAt: clock.now(), failure, attempts: attempt - 1 })
    if (failure !== null) onFailure({ kind: kind.name, jobId, attempt, error })
    if (kind.everyMs !== undefined)
      return returnJob(database, lease, { runAt: addMs(clock.now(), kind.everyMs), failure, attempts: 0 })
    if (failure === null) return deleteJob(database, lease)
    const isFinal = attempt >= kind.attempts
    // If this call fails, the lease expires and the next attempt abandons the job again.
    if (isFinal) await kind.abandon?.(payload)
    const runAt = isFinal ? null : addMs(clock.now(), backoffMs(attempt))
    return returnJob(database, lease, { runAt, failure, attempts: attempt })
  }
}

/** Creates the runner of the given kinds of jobs. All replicas share one queue. */
export const createJobRunner = (ports: Ports): JobRunner => new Runner(ports)
