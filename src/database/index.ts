/**
 * The database: PGlite in this process (`embedded/`) or a PostgreSQL server (`postgres/`), with the same schema. Start
 * with open-database.ts, which returns an `OpenDatabase` (port.ts). Owners of tables declare their types in `Tables`
 * and pass their migrations to the migrator (`migrator/`). Stores build SQL with Kysely, predicates.ts and queries.ts.
 * Columns are in camel case outside of SQL text (column-names.ts). Depends on the kernel only.
 */

export { type ClockSkew, watchClockSkew } from './clock-skew.ts'
export { CommandGate, closedGate } from './command-gate.ts'
export { hasEmbeddedStore, makeDirectory } from './embedded/data-directory.ts'
export { freeBytes, vacuum } from './embedded/disk-space.ts'
export { isDatabaseUnavailable, isServerAway, isServerFailure, isUnreachable, sqlState } from './errors.ts'
export type { TraceStatement } from './lease.ts'
export { assertNumbered, hasSchema, type Migration, type SchemaOwner, sqlMigration } from './migrator/migration.ts'
export { assertWritable, type DatabaseTarget, openDatabase } from './open-database.ts'
export type { OpenDatabase, WithoutTimeouts } from './port.ts'
export { serverOf } from './postgres/open-postgres.ts'
export { acquireSingletonLock } from './postgres/singleton-lock.ts'
export {
  containsEmail,
  containsText,
  differsByAtLeast,
  findEmail,
  findText,
  inWorkspace,
  isSuspect,
  isValidAt,
  timestamptz,
  trigramIndexes,
  type Validity,
  validAt,
} from './predicates.ts'
export { cursorOf, isBehind, readByKeys, readPage, readTotal } from './queries.ts'
export { summarizeQuery } from './query-summary.ts'
export { assertNoTransaction, detached, whileRunning } from './running-transaction.ts'
export {
  batch,
  type Param,
  query,
  rawQuery,
  run,
  type Statements,
  statement,
  together,
} from './statements.ts'
export type { Database, Json, Minor, NullableTimestamp, Tables, Timestamp, Tx } from './tables.ts'
export {
  commitWith,
  createSnapshotReader,
  inTransaction,
  type LastStatements,
  type ReadSnapshot,
  retryOnConflict,
  type Snapshot,
} from './transaction.ts'
