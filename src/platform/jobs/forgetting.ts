import type { Database } from '../../database/index.ts'
import { addMs, type Clock, hours } from '../../kernel/index.ts'
import type { JobKind } from './job.ts'
import { deleteFailedJobs } from './store.ts'

interface Ports {
  database: Database
  clock: Clock
  /** How long a job that was given up can still be looked at. */
  failedKeptMs: number
}

/** The job that forgets the jobs that were given up long ago. */
export const forgettingFailedJobs = ({ database, clock, failedKeptMs }: Ports): JobKind => ({
  name: 'jobs.forgetFailed',
  attempts: 1,
  everyMs: hours(1),
  work: () => deleteFailedJobs(database, addMs(clock.now(), -failedKeptMs)),
})
