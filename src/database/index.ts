/**
 * The database: one schema over two stores, PGlite in this process (`embedded/`) or a PostgreSQL server (`postgres/`).
 * `openDatabase` opens either of them as an `OpenDatabase` (port.ts), and `inTransaction` runs work in a transaction.
 * Owners of tables declare them in `Tables` and hand their migrations to the migrator (`migrator/`). Stores build their
 * statements with Kysely and the helpers in sql-helpers.ts, validity.ts, pagination.ts and statement.ts.
 */

export { hasEmbeddedStore, makeDirectory } from './embedded/data-directory.ts'
export { vacuum } from './embedded/vacuum.ts'
export { isDatabaseUnavailable, sqlState } from './errors.ts'
export { hasSchema } from './migrator/migrate.ts'
export { type SchemaOwner, sqlMigration } from './migrator/migration.ts'
export { type DatabaseTarget, openDatabase } from './open-database.ts'
export { countQuery, readPage } from './pagination.ts'
export type { OpenDatabase } from './port.ts'
export { acquireSingletonLock } from './postgres/singleton-lock.ts'
export { createSnapshotReader, type ReadSnapshot, type Snapshot } from './snapshot.ts'
export { containsEmail, containsText, differsByAtLeast, timestamptz } from './sql-helpers.ts'
export { assertWritable, measureClockSkew } from './startup-checks.ts'
export { type Param, statement } from './statement.ts'
export type { Database, Json, Minor, NullableTimestamp, Tables, Timestamp, Tx } from './tables.ts'
export { inTransaction, retryOnConflict } from './transaction.ts'
export { isValidAt, type Validity, validAt } from './validity.ts'
