import type { Database } from '../../database/index.ts'
import { addMs, type Clock, hours } from '../../kernel/index.ts'
import type { JobKind } from './job.ts'
import { deleteFailedJobs } from './store.ts'

interface Ports {
  database: Database
  clock: Clock
  /** How long failed jobs are kept for inspection. */
  failedKeptMs: number
}

/** The recurring job that deletes old failed jobs. */
export const failedJobCleanup = ({ database, clock, failedKeptMs }: Ports): JobKind => ({
  name: 'jobs.forgetFailed',
  attempts: 1,
  everyMs: hours(1),
  work: () => deleteFailedJobs(database, addMs(clock.now(), -failedKeptMs)),
})
