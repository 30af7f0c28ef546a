import type { Database } from '../../database/index.ts'
import { addMs, type Clock, type Ids, messageOf } from '../../kernel/index.ts'
import type { JobKind } from './job.ts'
import { deleteJob, type Lease, leaseJob, maxBackoffMs, renewLease, returnJob, upsertRecurringJob } from './store.ts'

/** People wait for jobs such as exports. Half a second costs two indexed reads per second and process. */
const defaultPollMs = 500

/** The pause after which another process takes over. Renewed every 10 s, it outlasts a failover of the database. */
const defaultLeaseMs = 30_000

/** One slot for exports, and one for all other jobs. Replicas add slots. */
const defaultConcurrency = 2

/** Times are in milliseconds. */
export interface JobSettings {
  concurrency?: number
  /** Maximum number of long jobs at a time. Default: all workers but one. */
  longJobs?: number
  pollMs?: number
  /** How long a job stays leased after its process was killed. */
  leaseMs?: number
}

export interface JobRunner {
  start(): Promise<void>
  /** Returns false if no job is due. */
  runOne(): Promise<boolean>
  /** Runs one attempt, whether or not a job of this kind is due. Rejects with its error, and if no kind has the name. */
  runNow(name: string, payload: object): Promise<void>
  /** Aborts the running jobs and waits for them to end. */
  stop(): Promise<void>
}

interface Ports {
  database: Database
  clock: Clock
  ids: Ids
  settings: JobSettings
  kinds: readonly JobKind[]
  /** While this returns false, recurring jobs are left to other replicas. */
  canRecur?(): boolean
  onFailure(failure: { kind: string; jobId: string; attempt: number; error: unknown }): void
  /** Called for a job that ends without its effect: because of a limit, or after its last attempt. */
  onDropped(job: { kind: string; jobId: string; attempt: number; reason: DropReason }): void
}

/** Why a job ended without its effect. */
export type DropReason = 'limit' | 'failed'

interface LeasedJob {
  kind: JobKind
  lease: Lease
}

/** Reported if reading the queue fails. */
export const queueFailureKind = 'jobs'

/** A process is usually killed for reasons other than its job. */
const maxKills = 5

/** In characters. */
const maxFailureLength = 500

class Runner implements JobRunner {
  readonly #ports: Ports
  readonly #kinds: ReadonlyMap<string, JobKind>
  readonly #stopping = new AbortController()
  readonly #workers = new Set<Promise<unknown>>()
  readonly #concurrency: number
  #longJobs = 0
  #leasing: Promise<unknown> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  constructor(ports: Ports) {
    this.#ports = ports
    this.#concurrency = ports.settings.concurrency ?? defaultConcurrency
    this.#kinds = new Map(ports.kinds.map((kind) => [kind.name, kind]))
  }

  async start(): Promise<void> {
    const { database, clock, ids, kinds, settings } = this.#ports
    const at = clock.now()
    for (const { name, everyMs, initialDelayMs = 0 } of kinds)
      if (everyMs !== undefined)
        await upsertRecurringJob(database, ids, { kind: name, everyMs, at, firstAt: addMs(at, initialDelayMs) })
    this.#timer = setInterval(() => this.#startWorker(), settings.pollMs ?? defaultPollMs)
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

  readonly runNow = async (name: string, payload: object): Promise<void> => {
    const kind = this.#kinds.get(name)
    if (!kind) throw new Error(`no job is called ${name}; the jobs: ${[...this.#kinds.keys()].join(', ')}`)
    const jobId = this.#ports.ids.next<'job'>()
    await kind.work(payload, { jobId, attempt: 1, signal: this.#stopping.signal, drop: () => undefined })
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    this.#stopping.abort(new Error('the process is shutting down'))
    await Promise.all(this.#workers)
  }

  #startWorker(): void {
    if (this.#workers.size >= this.#concurrency || this.#kinds.size === 0) return
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

  /** Each worker must know how many long jobs are running. */
  #leaseNext(): Promise<LeasedJob | undefined> {
    const leased = this.#leasing.then(() => this.#lease())
    this.#leasing = leased.catch(() => undefined)
    return leased
  }

  async #lease(): Promise<LeasedJob | undefined> {
    const { database, clock, ids, kinds, settings } = this.#ports
    const maxLongJobs = settings.longJobs ?? Math.max(1, this.#concurrency - 1)
    const canRecur = this.#ports.canRecur?.() ?? true
    const eligible = kinds.filter(
      ({ isLong, everyMs }) => (!isLong || this.#longJobs < maxLongJobs) && (everyMs === undefined || canRecur),
    )
    if (eligible.length === 0) return undefined
    const lease = await leaseJob(database, {
      kinds: eligible.map(({ name }) => name),
      leaseId: ids.next<'lease'>(),
      at: clock.now(),
      leaseMs: settings.leaseMs ?? defaultLeaseMs,
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
    let isDropped = false
    const drop = (): void => {
      isDropped = true
    }
    try {
      if (killsProcesses) throw new Error('the process was killed during each attempt')
      await kind.work(payload, { jobId, attempt, signal, drop })
    } catch (caught) {
      error = caught ?? new Error('failed')
    }
    await renewal.stop()
    if (!lost.signal.aborted) await this.#settle(job, error, isDropped)
  }

  /** `error` is null after a success. */
  async #settle({ kind, lease }: LeasedJob, error: unknown, isDropped: boolean): Promise<void> {
    const { database, clock, onFailure, onDropped } = this.#ports
    const failure = error === null ? null : messageOf(error).slice(0, maxFailureLength)
    const { jobId, attempt, payload } = lease
    if (this.#stopping.signal.aborted && failure !== null)
      return returnJob(database, lease, { runAt: clock.now(), failure, attempts: attempt - 1 })
    if (failure !== null) onFailure({ kind: kind.name, jobId, attempt, error })
    else if (isDropped) onDropped({ kind: kind.name, jobId, attempt, reason: 'limit' })
    if (kind.everyMs !== undefined)
      return returnJob(database, lease, { runAt: addMs(clock.now(), kind.everyMs), failure, attempts: 0 })
    if (failure === null) return deleteJob(database, lease)
    const isFinal = attempt >= kind.attempts
    // If `abandon` fails, the lease expires and the next attempt calls it again.
    if (isFinal) {
      await kind.abandon?.(payload)
      onDropped({ kind: kind.name, jobId, attempt, reason: 'failed' })
    }
    const runAt = isFinal ? null : addMs(clock.now(), backoffMs(attempt))
    return returnJob(database, lease, { runAt, failure, attempts: attempt })
  }
}

export function createJobRunner(ports: Ports): JobRunner {
  return new Runner(ports)
}

/**
 * Renews three times per lease duration. Calls `onLost` once another replica has taken the job, or the lease has
 * expired because the database was unavailable.
 */
function startLeaseRenewal(
  { database, clock, settings }: Ports,
  lease: Lease,
  onLost: (reason: Error) => void,
): { stop(): Promise<void> } {
  const { leaseMs = defaultLeaseMs } = settings
  let until = addMs(clock.now(), leaseMs)
  let renewing: Promise<void> = Promise.resolve()
  const renew = async (): Promise<void> => {
    const next = addMs(clock.now(), leaseMs)
    try {
      if (await renewLease(database, lease, next)) until = next
      else onLost(new Error('the lease was lost'))
    } catch (cause) {
      // A failed renewal does not end the lease.
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

function backoffMs(attempt: number): number {
  return Math.min(1_000 * 4 ** (attempt - 1), maxBackoffMs)
}
