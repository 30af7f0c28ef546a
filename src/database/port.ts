import type { SchemaOwner } from './migrator/migration.ts'
import type { Database } from './tables.ts'

/** Runs long statements: see `OpenDatabase.withoutTimeouts`. */
export type WithoutTimeouts = <T>(work: (database: Database) => Promise<T>, signal?: AbortSignal) => Promise<T>

/** An open store, embedded or on a server. */
export interface OpenDatabase {
  database: Database
  kind: 'embedded' | 'postgres'
  /** Number of callers that wait for a connection. */
  waiting(): number
  /** Rejects if the database does not respond. */
  check(): Promise<void>
  /** Runs work that reads or changes a whole table, without statement and lock timeouts. Aborting the signal cancels it. */
  withoutTimeouts: WithoutTimeouts
  /** Runs the pending migrations and returns their names. */
  migrate(owners: readonly SchemaOwner[]): Promise<string[]>
  /** Resolves with the reason once the embedded store has failed and the process must restart. Never on a server. */
  fatal: Promise<Error>
  close(): Promise<void>
}
