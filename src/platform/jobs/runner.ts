import type { Database } from '../../database/index.ts'
import { addMs, type Clock, type Ids, messageOf } from '../../kernel/index.ts'
import type { JobKind } from './job.ts'
import { deleteJob, type Lease, leaseJob, maxBackoffMs, renewLease, returnJob, upsertRecurringJob } from './store.ts'

/**
 * Renews a lease three times per lease duration until stopped. Calls `onLost` once another replica has taken the job, or
 * the lease has expired because the database was unavailable.
 */
export const startLeaseRenewal = (
  { database, clock, leaseMs }: { database: Database; clock: Clock; leaseMs: number },
  lease: Lease,
  onLost: (reason: Error) => void,
): { stop(): Promise<void> } => {
  let until = addMs(clock.now(), leaseMs)
  let renewing: Promise<void> = Promise.resolve()
  const renew = async (): Promise<void> => {
    const next = addMs(clock.now(), leaseMs)
    try {
      if (await renewLease(database, lease, next)) until = next
      else onLost(new Error('the lease was lost'))
    } catch (cause) {
      // The lease is still valid until it expires.
      if (clock.now() >= until) onLost(new Error('the lease could not be prolonged', { cause }))
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

export interface JobSettings {
  /** Maximum number of concurrent jobs in this process. */
  concurrency: number
  pollMs: number
  /** How long a job stays leased after its process was killed. */
  leaseMs: number
}

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

/** The kind reported with a failure to read the queue, which belongs to no job. */
export const queueFailureKind = 'jobs'

/** Grows by a factor of four from one second, up to five minutes. */
const backoffMs = (attempt: number): number => Math.min(1_000 * 4 ** (attempt - 1), maxBackoffMs)

/** Additional attempts if the process was killed: the job is usually not the cause. */
const toleratedKills = 5

/** In characters, of the failure that is stored with the job. */
const maxFailureLength = 500

/** Runs the jobs of the given kinds. All replicas share one queue. */
export const createJobRunner = ({ database, clock, ids, settings, kinds, onFailure }: Ports): JobRunner => {
  const byName = new Map(kinds.map((kind) => [kind.name, kind]))
  const stopping = new AbortController()
  const workers = new Set<Promise<unknown>>()
  const maxLong = Math.max(1, settings.concurrency - 1)
  let runningLong = 0
  let taking: Promise<unknown> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined

  const settle = async (kind: JobKind, lease: Lease, error: unknown): Promise<void> => {
    const failure = error === null ? null : messageOf(error).slice(0, maxFailureLength)
    const { attempt } = lease
    if (stopping.signal.aborted && failure !== null)
      return returnJob(database, lease, { runAt: clock.now(), failure, attempts: attempt - 1 })
    if (failure !== null) onFailure({ kind: kind.name, jobId: lease.jobId, attempt, error })
    if (kind.everyMs !== undefined)
      return returnJob(database, lease, { runAt: addMs(clock.now(), kind.everyMs), failure, attempts: 0 })
    if (failure === null) return deleteJob(database, lease)
    const isFinal = attempt >= kind.attempts
    // If this fails the lease expires, and the replica that takes the job next tries again.
    if (isFinal) await kind.abandon?.(lease.payload)
    const runAt = isFinal ? null : addMs(clock.now(), backoffMs(attempt))
    return returnJob(database, lease, { runAt, failure, attempts: attempt })
  }

  const work = async (kind: JobKind, lease: Lease): Promise<void> => {
    const lost = new AbortController()
    const signal = AbortSignal.any([lost.signal, stopping.signal])
    const keeping = startLeaseRenewal({ database, clock, leaseMs: settings.leaseMs }, lease, (reason) =>
      lost.abort(reason),
    )
    const { jobId, attempt } = lease
    let error: unknown = null
    const killsProcesses = kind.everyMs === undefined && attempt > kind.attempts + toleratedKills
    try {
      if (killsProcesses) throw new Error('one process after the other went down over it')
      await kind.work(lease.payload, { jobId, attempt, signal })
    } catch (caught) {
      error = caught ?? new Error('failed')
    }
    await keeping.stop()
    if (!lost.signal.aborted) await settle(kind, lease, error)
  }

  const take = async (): Promise<{ kind: JobKind; lease: Lease } | undefined> => {
    const open = kinds.filter(({ isLong }) => !isLong || runningLong < maxLong)
    if (open.length === 0) return undefined
    const lease = await leaseJob(database, {
      kinds: open.map(({ name }) => name),
      leaseId: ids.next<'lease'>(),
      at: clock.now(),
      leaseMs: settings.leaseMs,
    })
    const kind = lease && byName.get(lease.kind)
    if (kind?.isLong) runningLong += 1
    return kind && { kind, lease }
  }

  /** Workers lease one after the other, so that each knows the number of long jobs. */
  const takeNext = (): ReturnType<typeof take> => {
    const taken = taking.then(take)
    taking = taken.catch(() => undefined)
    return taken
  }

  const runOne = async (): Promise<boolean> => {
    const taken = await takeNext()
    if (!taken) return false
    try {
      await work(taken.kind, taken.lease)
    } finally {
      if (taken.kind.isLong) runningLong -= 1
    }
    return true
  }

  /** One worker: runs jobs until none is due. */
  const runWorker = async (): Promise<void> => {
    try {
      while (!stopping.signal.aborted && (await runOne()));
    } catch (error) {
      onFailure({ kind: queueFailureKind, jobId: '', attempt: 0, error })
    }
  }

  const poll = (): void => {
    if (workers.size >= settings.concurrency || byName.size === 0) return
    const worker = runWorker()
    workers.add(worker)
    void worker.finally(() => workers.delete(worker))
  }

  return {
    start: async () => {
      const at = clock.now()
      for (const { name, everyMs, initialDelayMs = 0 } of kinds)
        if (everyMs !== undefined)
          await upsertRecurringJob(database, ids, { kind: name, everyMs, at, firstAt: addMs(at, initialDelayMs) })
      timer = setInterval(poll, settings.pollMs)
    },
    runOne,
    stop: async () => {
      clearInterval(timer)
      stopping.abort(new Error('the process goes down'))
      await Promise.all(workers)
    },
  }
}
