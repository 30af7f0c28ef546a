import type { SchemaOwner } from './migrator/migration.ts'
import type { Database } from './tables.ts'

/** Runs a function with statement and lock timeouts disabled. See `OpenDatabase.withoutTimeouts`. */
export type WithoutTimeouts = <T>(work: (database: Database) => Promise<T>, signal?: AbortSignal) => Promise<T>

/** An open database: the embedded store or a PostgreSQL server. */
export interface OpenDatabase {
  database: Database
  kind: 'embedded' | 'postgres'
  /** Returns the number of callers that wait for a connection. */
  waiting(): number
  /** Rejects if the database does not respond. */
  check(): Promise<void>
  /**
   * Runs `work` without statement and lock timeouts, for work that reads or changes whole tables. Aborting the signal
   * cancels the work on a server. The embedded store checks the signal only before the work starts.
   */
  withoutTimeouts: WithoutTimeouts
  /** Runs the pending migrations and returns their names. */
  migrate(owners: readonly SchemaOwner[]): Promise<string[]>
  /**
   * Resolves with the error once the embedded store has failed and the process must restart. Never resolves for a
   * PostgreSQL server.
   */
  fatal: Promise<Error>
  close(): Promise<void>
}
