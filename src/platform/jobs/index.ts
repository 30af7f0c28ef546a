export type { JobFacts, JobKind } from './job.ts'
export { createJobRunner, type JobRunner, type JobSettings } from './runner.ts'
export { enqueueJob } from './store.ts'
