/**
 * Tables in native partitions: ledger entries, the sign-in history and the audit log by month, and events by position.
 * Start with schema.ts. A job adds partitions ahead (job.ts). Depends on the kernel, the database and jobs.
 */

export { type ArchiveRules, archiveOldest, findArchivable, minimumAgeDays } from './archive.ts'
export { type ArchivedTable, detachPartition, withShortLocks } from './archive-store.ts'
export { partitionedTables } from './functions.ts'
export { partitionJob } from './job.ts'
export { partitionBy } from './schema.ts'
export { extendPartitions, listPartitions } from './store.ts'
