import type { HoldLimit } from './lease.ts'
import type { SchemaOwner } from './migrator/migration.ts'
import type { Database } from './tables.ts'

/** See `OpenDatabase.withoutTimeouts`. */
export type WithoutTimeouts = <T>(work: (database: Database) => Promise<T>, signal?: AbortSignal) => Promise<T>

/** Learns about each failure of the server and each acquired connection. */
export interface ServerWatch {
  failed(error: unknown): void
  works(): void
}

/** The embedded store or a PostgreSQL server. */
export interface OpenDatabase {
  database: Database
  /** The same store. Errors inside a transaction name this port instead of `database`. Default: the limit of `database`. */
  named(port: string, limit?: HoldLimit): Database
  kind: 'embedded' | 'postgres'
  /** Number of callers that wait for a connection. */
  waiting(): number
  /** The pool of connections to a server. 0 of 0 in the embedded store. */
  connections(): { inUse: number; size: number }
  /** Rejects if the database does not respond. Returns why a server accepts no writes, or null. */
  check(): Promise<string | null>
  /**
   * Runs work on whole tables without statement and lock timeouts. The signal cancels the work on a server. The
   * embedded store checks the signal only at the start.
   */
  withoutTimeouts: WithoutTimeouts
  /**
   * Runs work without timeouts on its own connection. There, a statement outside of `transaction` can be one that
   * PostgreSQL refuses in a transaction. Rejects behind a pooler.
   */
  inOwnSession<T>(work: (database: Database) => Promise<T>): Promise<T>
  /** Returns the names of the migrations that it ran. */
  migrate(owners: readonly SchemaOwner[]): Promise<string[]>
  /** Resolves once the embedded store has failed and the process must restart. Never resolves for a server. */
  fatal: Promise<Error>
  close(): Promise<void>
}
