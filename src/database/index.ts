/**
 * The database: one schema over two stores, PGlite in this process (`embedded/`) or a PostgreSQL server (`postgres/`).
 * `openDatabase` opens either of them as an `OpenDatabase` (port.ts), and `inTransaction` runs work in a transaction.
 * Owners of tables declare them in `Tables` and hand their migrations to the migrator (`migrator/`). Stores build their
 * statements with Kysely and the helpers in predicates.ts and queries.ts. Depends on the kernel only.
 */

export { sql } from 'kysely'
export { hasEmbeddedStore, makeDirectory } from './embedded/data-directory.ts'
export { vacuum } from './embedded/disk-space.ts'
export { isDatabaseUnavailable, sqlState } from './errors.ts'
export { hasSchema } from './migrator/migrate.ts'
export { type Migration, type SchemaOwner, sqlMigration } from './migrator/migration.ts'
export { assertWritable, type DatabaseTarget, measureClockSkew, openDatabase } from './open-database.ts'
export type { OpenDatabase } from './port.ts'
export { acquireSingletonLock } from './postgres/singleton-lock.ts'
export {
  containsEmail,
  containsText,
  differsByAtLeast,
  isValidAt,
  timestamptz,
  type Validity,
  validAt,
} from './predicates.ts'
export { countQuery, type Param, readPage, statement } from './queries.ts'
export type { Database, Json, Minor, NullableTimestamp, Tables, Timestamp, Tx } from './tables.ts'
export {
  createSnapshotReader,
  inTransaction,
  type ReadSnapshot,
  retryOnConflict,
  type Snapshot,
} from './transaction.ts'
