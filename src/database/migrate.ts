import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { sqlState } from './fault.ts'
import { migrations } from './migrations/index.ts'
import type { Database, Tx } from './tables/index.ts'
import { inTransaction } from './transaction.ts'

/** Any number that nobody else takes. The lock is the transaction's, so that it suits a pooler in transaction mode. */
const lockKey = 7_095_213_844_126
const lockNotAvailable = '55P03'
const attempts = 30
const pauseMs = 500

const hasMigratorsTables = async (store: Database | Tx): Promise<boolean> => {
  const { rows } = await sql<{ found: boolean }>`SELECT to_regclass('kysely_migration') IS NOT NULL AS found`.execute(
    store,
  )
  return rows[0]?.found === true
}

const appliedNames = async (store: Database | Tx): Promise<string[]> => {
  if (!(await hasMigratorsTables(store))) return []
  return (await sql<{ name: string }>`SELECT name FROM kysely_migration`.execute(store)).rows.map(({ name }) => name)
}

/** Whether any version has ever migrated it. */
export const hasSchema = async (database: Database): Promise<boolean> => (await appliedNames(database)).length > 0

/** Whether this version has nothing to do: one look, without the lock, is all that most starts need. */
const isUpToDate = async (database: Database): Promise<boolean> => {
  const applied = new Set(await appliedNames(database))
  return Object.keys(migrations).every((name) => applied.has(name))
}

/**
 * Ours, and for each that a newer version has made already a blank: while one is rolled out, or back, a replica of this
 * version starts over its schema, which suits both.
 */
const allMigrations = async (tx: Tx): Promise<Record<string, Migration>> => {
  const blank: Migration = { up: async () => undefined }
  const ours = Object.entries(migrations).map(async ([name, load]) => [name, await load()] as const)
  const applied = await appliedNames(tx)
  return Object.fromEntries([...applied.map((name) => [name, blank] as const), ...(await Promise.all(ours))])
}

/**
 * Where Kysely's own tables are wanting, it makes them only if no schema has any, though another Portico may have made its own
 * in another one; and where they cannot be made it tells of its next look at a transaction that has failed, not of the reason.
 */
const makeMigratorsTables = async (tx: Tx): Promise<void> => {
  if (await hasMigratorsTables(tx)) return
  await sql`CREATE TABLE kysely_migration (name varchar(255) PRIMARY KEY, timestamp varchar(255) NOT NULL)`.execute(tx)
  await sql`CREATE TABLE kysely_migration_lock (id varchar(255) PRIMARY KEY, is_locked integer NOT NULL DEFAULT 0)`.execute(
    tx,
  )
}

const run = async (tx: Tx): Promise<string[]> => {
  await sql`SELECT pg_advisory_xact_lock(${lockKey}::bigint)`.execute(tx)
  // Whoever waits for a table's lock holds up everybody behind him: the version that runs must not feel it.
  await sql`SET LOCAL lock_timeout = '2s'`.execute(tx)
  await makeMigratorsTables(tx)
  const provided = await allMigrations(tx)
  const provider = { getMigrations: async () => provided }
  const migrator = new Migrator({ db: tx, provider, allowUnorderedMigrations: true })
  const { error, results = [] } = await migrator.migrateToLatest()
  if (error) throw error
  return results.map((result) => result.migrationName)
}

/**
 * Brings the schema up to date in one transaction; replicas that start together take turns. Answers what it did.
 * Where a table that changes is in long use, all of it is tried again, for half a minute or so; and some times where commands
 * and it wait for one another.
 */
export const migrate = async (database: Database): Promise<string[]> => {
  for (let attempt = 1; ; attempt++) {
    try {
      if (await isUpToDate(database)) return []
      return await inTransaction(database, run)
    } catch (cause) {
      if (attempt >= attempts || sqlState(cause) !== lockNotAvailable) throw new Error('a migration failed', { cause })
      await pause(pauseMs)
    }
  }
}
