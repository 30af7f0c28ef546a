import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { sqlState } from '../errors.ts'
import type { Database, Tx } from '../tables.ts'
import { inTransaction } from '../transaction.ts'
import { type AppliedMigration, pendingMigrations, type SchemaOwner } from './migration.ts'

/**
 * Key of the advisory lock, an arbitrary number. The lock belongs to the transaction, so it also works behind a pooler
 * in transaction mode.
 */
const lockKey = 7_095_213_844_126
const lockNotAvailable = '55P03'
const maxAttempts = 30
const pauseMs = 500

const hasMigrationTable = async (store: Database | Tx): Promise<boolean> => {
  const found = sql<{ found: boolean }>`SELECT to_regclass('portico_migrations') IS NOT NULL AS found`
  return (await found.execute(store)).rows[0]?.found === true
}

const readApplied = async (store: Database | Tx): Promise<AppliedMigration[]> => {
  if (!(await hasMigrationTable(store))) return []
  return store.selectFrom('portico_migrations').select(['owner', 'name']).execute()
}

/** Whether the database contains at least one applied migration. */
export const hasSchema = async (database: Database): Promise<boolean> => (await readApplied(database)).length > 0

const createMigrationTable = async (tx: Tx): Promise<void> => {
  if (await hasMigrationTable(tx)) return
  await sql`
    CREATE TABLE portico_migrations (
      owner text NOT NULL,
      name text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (owner, name)
    )`.execute(tx)
}

const runPending = async (tx: Tx, owners: readonly SchemaOwner[]): Promise<string[]> => {
  await sql`SELECT pg_advisory_xact_lock(${lockKey}::bigint)`.execute(tx)
  // Give up early, because a statement that waits for a table lock blocks all later statements on that table. Other
  // replicas must be able to handle requests in the meantime.
  await sql`SET LOCAL lock_timeout = '2s'`.execute(tx)
  await createMigrationTable(tx)
  const pending = pendingMigrations(owners, await readApplied(tx))
  for (const { owner, name, up } of pending) {
    await up(tx)
    await tx.insertInto('portico_migrations').values({ owner, name }).execute()
  }
  return pending.map(({ owner, name }) => `${owner}/${name}`)
}

/**
 * Runs all pending migrations in one transaction, owner by owner, and returns their names. An advisory lock makes
 * replicas that start at the same time migrate one after another.
 *
 * If a migration cannot lock a busy table within 2 s, the transaction rolls back. It is retried for about a minute in
 * total. After a deadlock, the transaction is attempted up to five times in total. If no migration is pending, this
 * function runs one query and acquires no lock.
 */
export const migrate = async (database: Database, owners: readonly SchemaOwner[]): Promise<string[]> => {
  for (let attempt = 1; ; attempt++) {
    try {
      if (pendingMigrations(owners, await readApplied(database)).length === 0) return []
      return await inTransaction(database, (tx) => runPending(tx, owners))
    } catch (cause) {
      if (attempt >= maxAttempts || sqlState(cause) !== lockNotAvailable)
        throw new Error('a migration failed', { cause })
      await pause(pauseMs)
    }
  }
}
