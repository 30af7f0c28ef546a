import type { EmbeddedTarget } from './embedded/open-embedded.ts'
import type { SchemaOwner } from './migrator/migration.ts'
import type { PostgresTarget } from './postgres/open-postgres.ts'
import type { Database } from './tables.ts'

export type DatabaseTarget = EmbeddedTarget | PostgresTarget

export interface OpenDatabase {
  database: Database
  kind: DatabaseTarget['kind']
  /** How many wait for a connection. */
  waiting(): number
  /** Rejects where the store does not answer. */
  check(): Promise<void>
  /** Work that reads or changes all of the store, whose statements may take their time; a signal cuts it off. */
  withoutTimeouts<T>(work: (database: Database) => Promise<T>, signal?: AbortSignal): Promise<T>
  /** Runs the pending migrations and returns their names. */
  migrate(owners: readonly SchemaOwner[]): Promise<string[]>
  /** Comes, with why, when the store is of no use any more until a process opens it anew. A server's never does. */
  fatal: Promise<Error>
  close(): Promise<void>
}

/** One schema over two stores: PGlite in this process, or a PostgreSQL server. Only the one that is used is loaded. */
export const openDatabase = async (target: DatabaseTarget): Promise<OpenDatabase> => {
  if (target.kind === 'embedded') return (await import('./embedded/open-embedded.ts')).openEmbedded(target)
  return (await import('./postgres/open-postgres.ts')).openPostgres(target)
}
