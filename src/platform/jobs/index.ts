/**
 * Background jobs that survive the process, in a table shared by all replicas. Start with `JobKind` in job.ts.
 * `enqueueJob` adds a job in the caller's transaction; the runner leases due jobs and retries failures. Work that may
 * be lost belongs in background-work.ts. Depends on the kernel and the database.
 */

export type { JobFacts, JobKind } from './job.ts'
export { failedJobCleanup } from './job.ts'
export { createJobRunner, type DropReason, type JobSettings, queueFailureKind } from './runner.ts'
export { completeJob, countJobs, declareJobKinds, enqueueJob, enqueueJobs, jobsEnqueued } from './store.ts'
