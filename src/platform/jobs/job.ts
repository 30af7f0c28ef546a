import type { Database } from '../../database/index.ts'
import { addMs, type Clock, hours } from '../../kernel/index.ts'
import { deleteFailedJobs } from './store.ts'

/** One attempt at a job. */
export interface JobFacts {
  jobId: string
  /** Starts at 1. */
  attempt: number
  /**
   * Aborted when the lease is lost or the process shuts down. Another replica may then repeat any write that follows.
   */
  signal: AbortSignal
  /** Reports that a limit ends the job without its effect, such as a mail above a daily limit. */
  drop(): void
}

/** A kind of job. `work` must be idempotent: a job starts again if its process is killed. */
export interface JobKind {
  name: string
  /** Maximum number of attempts. A recurring kind is retried forever. */
  attempts: number
  /** Makes the kind recurring: milliseconds from the end of one run to the start of the next, across all replicas. */
  everyMs?: number
  /** Delay of a recurring kind's first run after the first start, in milliseconds. Default: 0. */
  initialDelayMs?: number
  /** Whether a job may take minutes. One worker per process is reserved for short jobs. */
  isLong?: boolean
  /** `outgoing`: waits for servers of strangers, so it has workers that no other job needs. */
  workers?: 'outgoing'
  work(payload: unknown, facts: JobFacts): Promise<void>
  /** Runs before a job is marked as failed. Must be idempotent, too. */
  abandon?(payload: unknown): Promise<void>
}

interface Ports {
  database: Database
  clock: Clock
  /** How long failed jobs stay for inspection, in milliseconds. */
  failedRetentionMs: number
}

export function failedJobCleanup({ database, clock, failedRetentionMs }: Ports): JobKind {
  return {
    name: 'jobs.deleteFailed',
    attempts: 1,
    everyMs: hours(1),
    work: () => deleteFailedJobs(database, addMs(clock.now(), -failedRetentionMs)),
  }
}
