import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { sqlState } from '../errors.ts'
import type { Database, Tx } from '../tables.ts'
import { inTransaction } from '../transaction.ts'
import { type AppliedMigration, pendingMigrations, type SchemaOwner } from './migration.ts'

/** The lock belongs to the transaction, so it also works behind a pooler in transaction mode. */
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
  // A statement that waits for a table lock blocks all later statements on that table. Give up early, so that other
  // replicas can handle requests.
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
 * All pending migrations share one transaction. Replicas that start at the same time migrate one after another. If a
 * table stays busy for 2 s, rolls back and retries for about a minute.
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
