import type { Database } from '../../database/index.ts'
import { addMs, type Clock, hours } from '../../kernel/index.ts'
import { deleteFailedJobs } from './store.ts'

/** The context of one attempt. */
export interface JobFacts {
  jobId: string
  /** The number of the attempt, starting at 1. */
  attempt: number
  /** Aborted when the lease is lost or the process shuts down. Another replica may repeat any later write. */
  signal: AbortSignal
}

/** A kind of job. Its work must be idempotent: it starts again if its process is killed. */
export interface JobKind {
  name: string
  /** Maximum number of attempts. A recurring kind is retried forever. */
  attempts: number
  /** Interval of a recurring kind, in milliseconds from the end of a run to the next one, across all replicas. */
  everyMs?: number
  /** Delay of a recurring kind's first run after the first start of the deployment, in milliseconds. Default: 0. */
  initialDelayMs?: number
  /** Whether a job may take minutes. One worker per process never runs such jobs, so that they cannot block short ones. */
  isLong?: boolean
  work(payload: unknown, facts: JobFacts): Promise<void>
  /** Runs before a job is marked as failed. Must be idempotent, too. */
  abandon?(payload: unknown): Promise<void>
}

interface Ports {
  database: Database
  clock: Clock
  /** How long failed jobs stay in the table for inspection, in milliseconds. */
  failedRetentionMs: number
}

/** Returns the recurring job that deletes old failed jobs. */
export const failedJobCleanup = ({ database, clock, failedRetentionMs }: Ports): JobKind => ({
  name: 'jobs.deleteFailed',
  attempts: 1,
  everyMs: hours(1),
  work: () => deleteFailedJobs(database, addMs(clock.now(), -failedRetentionMs)),
})
