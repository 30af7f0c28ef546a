/**
 * Background jobs that survive the process, in a database table shared by all replicas. Start with `JobKind` in job.ts.
 * `enqueueJob` adds a job in the caller's transaction; the runner leases due jobs, runs them and retries failures. Work
 * that may be lost with the process belongs in background-work.ts instead. Depends on the kernel and the database.
 */

export type { JobFacts, JobKind } from './job.ts'
export { failedJobCleanup } from './job.ts'
export { createJobRunner, queueFailureKind } from './runner.ts'
export { enqueueJob } from './store.ts'
