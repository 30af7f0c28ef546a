export { forgettingFailedJobs } from './forgetting.ts'
export type { JobFacts, JobKind } from './job.ts'
export { createJobRunner, queueItself } from './runner.ts'
export { enqueueJob } from './store.ts'
