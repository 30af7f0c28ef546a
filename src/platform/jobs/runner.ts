import type { Database } from '../../database/index.ts'
import { addMs, type Clock, type Ids, messageOf } from '../../kernel/index.ts'
import type { JobKind } from './job.ts'
import { keepLease } from './lease.ts'
import { deleteJob, keepRecurring, type Lease, leaseJob, longestPauseMs, returnJob } from './store.ts'

export interface JobSettings {
  /** Jobs under way at once in this process. */
  concurrency: number
  pollMs: number
  /** How long a killed process's job waits before another one takes it. */
  leaseMs: number
}

export interface JobRunner {
  start(): Promise<void>
  /** Takes and does one job; whether there was one. */
  runOne(): Promise<boolean>
  /** Takes no more, tells those under way to stop, and waits for them. */
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

/** What a failure is told of that is of no job: the queue could not be read. */
export const queueItself = 'jobs'

/** Grows fourfold from one second, up to five minutes. */
const backoffMs = (attempt: number): number => Math.min(1_000 * 4 ** (attempt - 1), longestPauseMs)

/** Attempts beyond a kind's own that may end with their process: one that is killed is mostly not the job's doing. */
const killsForgiven = 5

/** So much of a failure is kept with its job, in characters. */
const keptOfFailure = 500

/** Does the jobs of the kinds that this process knows, those of every replica in turns. */
export const createJobRunner = ({ database, clock, ids, settings, kinds, onFailure }: Ports): JobRunner => {
  const byName = new Map(kinds.map((kind) => [kind.name, kind]))
  const stopping = new AbortController()
  const underWay = new Set<Promise<unknown>>()
  const mostLong = Math.max(1, settings.concurrency - 1)
  let longUnderWay = 0
  let taking: Promise<unknown> = Promise.resolve()
  let timer: NodeJS.Timeout | undefined

  const settle = async (kind: JobKind, lease: Lease, error: unknown): Promise<void> => {
    const failure = error === null ? null : messageOf(error).slice(0, keptOfFailure)
    const { attempt } = lease
    if (stopping.signal.aborted && failure !== null)
      return returnJob(database, lease, { runAt: clock.now(), failure, attempts: attempt - 1 })
    if (failure !== null) onFailure({ kind: kind.name, jobId: lease.jobId, attempt, error })
    if (kind.everyMs !== undefined)
      return returnJob(database, lease, { runAt: addMs(clock.now(), kind.everyMs), failure, attempts: 0 })
    if (failure === null) return deleteJob(database, lease)
    const isOver = attempt >= kind.attempts
    // Where this fails the lease runs out, and whoever takes the job next comes here again.
    if (isOver) await kind.abandon?.(lease.payload)
    const runAt = isOver ? null : addMs(clock.now(), backoffMs(attempt))
    return returnJob(database, lease, { runAt, failure, attempts: attempt })
  }

  const work = async (kind: JobKind, lease: Lease): Promise<void> => {
    const lost = new AbortController()
    const signal = AbortSignal.any([lost.signal, stopping.signal])
    const keeping = keepLease({ database, clock, leaseMs: settings.leaseMs }, lease, (reason) => lost.abort(reason))
    const { jobId, attempt } = lease
    let error: unknown = null
    const isDeadly = kind.everyMs === undefined && attempt > kind.attempts + killsForgiven
    try {
      if (isDeadly) throw new Error('one process after the other went down over it')
      await kind.work(lease.payload, { jobId, attempt, signal })
    } catch (caught) {
      error = caught ?? new Error('failed')
    }
    await keeping.stop()
    if (!lost.signal.aborted) await settle(kind, lease, error)
  }

  const take = async (): Promise<{ kind: JobKind; lease: Lease } | undefined> => {
    const open = kinds.filter(({ isLong }) => !isLong || longUnderWay < mostLong)
    if (open.length === 0) return undefined
    const lease = await leaseJob(database, {
      kinds: open.map(({ name }) => name),
      leaseId: ids.next<'lease'>(),
      at: clock.now(),
      leaseMs: settings.leaseMs,
    })
    const kind = lease && byName.get(lease.kind)
    if (kind?.isLong) longUnderWay += 1
    return kind && { kind, lease }
  }

  /** Lines take one after the other, so that each knows what the others have taken. */
  const takeInTurn = (): ReturnType<typeof take> => {
    const taken = taking.then(take)
    taking = taken.catch(() => undefined)
    return taken
  }

  const runOne = async (): Promise<boolean> => {
    const taken = await takeInTurn()
    if (!taken) return false
    try {
      await work(taken.kind, taken.lease)
    } finally {
      if (taken.kind.isLong) longUnderWay -= 1
    }
    return true
  }

  /** One line of work: until nothing is due. */
  const line = async (): Promise<void> => {
    try {
      while (!stopping.signal.aborted && (await runOne()));
    } catch (error) {
      onFailure({ kind: queueItself, jobId: '', attempt: 0, error })
    }
  }

  const poll = (): void => {
    if (underWay.size >= settings.concurrency || byName.size === 0) return
    const running = line()
    underWay.add(running)
    void running.finally(() => underWay.delete(running))
  }

  return {
    start: async () => {
      const at = clock.now()
      for (const { name, everyMs, firstAfterMs = 0 } of kinds)
        if (everyMs !== undefined)
          await keepRecurring(database, ids, { kind: name, everyMs, at, firstAt: addMs(at, firstAfterMs) })
      timer = setInterval(poll, settings.pollMs)
    },
    runOne,
    stop: async () => {
      clearInterval(timer)
      stopping.abort(new Error('the process goes down'))
      await Promise.all(underWay)
    },
  }
}
