import { type EmbeddedTarget, openEmbedded } from './embedded.ts'
import { openPostgres, type PostgresTarget } from './postgres.ts'
import type { Database } from './tables/index.ts'

export type DatabaseTarget = EmbeddedTarget | PostgresTarget

export interface OpenDatabase {
  database: Database
  kind: DatabaseTarget['kind']
  /** Rejects where the store does not answer. */
  check(): Promise<void>
  /** Brings the schema up to date; answers the names of what was done. */
  migrate(): Promise<string[]>
  close(): Promise<void>
}

/** One schema over two stores: PGlite in this process, or a PostgreSQL server. */
export const openDatabase = (target: DatabaseTarget): Promise<OpenDatabase> =>
  target.kind === 'embedded' ? openEmbedded(target) : openPostgres(target)
