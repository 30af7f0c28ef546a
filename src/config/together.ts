import type { Settings } from './schema.ts'

/** What two settings together do not allow, each of which is good by itself. */
export const faultsTogether = ({ database, jobs }: Settings): string[] =>
  // An export holds a connection for its snapshot, and writes down how far it is by another one.
  database.poolSize > jobs.concurrency ? [] : ['database.poolSize: must be greater than jobs.concurrency']
