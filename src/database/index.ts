/**
 * Access to the database, which is either PGlite in this process (`embedded/`) or a PostgreSQL server (`postgres/`).
 * The schema is the same on either store. `openDatabase` returns the configured store as an `OpenDatabase` (port.ts).
 * `inTransaction` runs a function in a transaction. Each owner of tables declares their types in `Tables` and passes
 * its migrations to the migrator (`migrator/`). Stores build SQL statements with Kysely and with the helpers in
 * predicates.ts and queries.ts. This folder depends on the kernel only. Start reading at open-database.ts.
 */

export { hasEmbeddedStore, makeDirectory } from './embedded/data-directory.ts'
export { vacuum } from './embedded/disk-space.ts'
export { isDatabaseUnavailable, sqlState } from './errors.ts'
export { hasSchema } from './migrator/migrate.ts'
export { assertNumbered, type Migration, type SchemaOwner, sqlMigration } from './migrator/migration.ts'
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
