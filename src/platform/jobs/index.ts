export { failedJobCleanup } from './cleanup.ts'
export type { JobFacts, JobKind } from './job.ts'
export { createJobRunner, queueFailureKind } from './runner.ts'
export { enqueueJob } from './store.ts'
