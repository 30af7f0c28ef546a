import { setTimeout as pause } from 'node:timers/promises'
import { createQueryId, type RootOperationNode, sql } from 'kysely'
import { ColumnCompiler } from '../column-names.ts'
import { sqlState } from '../errors.ts'
import type { Database, Tx } from '../tables.ts'
import { inTransaction } from '../transaction.ts'
import {
  fillChecksums,
  pendingMigrations,
  prepareTable,
  readApplied,
  type SchemaOwner,
  withoutChecksum,
} from './migration.ts'
import { thisRelease } from './release.ts'

/** The lock belongs to the transaction, so it also works behind a pooler in transaction mode. */
const lockKey = 7_095_213_844_126
const lockNotAvailable = '55P03'
const deadlockDetected = '40P01'
const insufficientPrivilege = '42501'
const maxAttempts = 30
const pauseMs = 500

/** What runs, for the message of an error. An error of the store must reach the retries as it is. */
interface Progress {
  migration?: string
  statement?: RootOperationNode
}

/**
 * All pending migrations share one transaction. Replicas that start at the same time migrate one after another. If a
 * table stays busy for 2 s, or a request waits for a table as well, rolls back and retries for about a minute.
 */
export async function migrate(database: Database, owners: readonly SchemaOwner[]): Promise<string[]> {
  for (let attempt = 1; ; attempt++) {
    const progress: Progress = {}
    let isPending = true
    try {
      const applied = await readApplied(database)
      isPending = pendingMigrations(owners, applied).length > 0
      if (!isPending && withoutChecksum(owners, applied).length === 0) return []
      return await inTransaction(database, (tx) => runPending(tx, owners, progress))
    } catch (cause) {
      // A role that only serves cannot add the checksums. `portico migrate` does it later.
      if (!isPending && sqlState(cause) === insufficientPrivilege) return []
      if (attempt >= maxAttempts || ![lockNotAvailable, deadlockDetected].some((state) => state === sqlState(cause)))
        throw new Error(describeFailure(progress), { cause })
      await pause(pauseMs)
    }
  }
}

async function runPending(tx: Tx, owners: readonly SchemaOwner[], progress: Progress): Promise<string[]> {
  await sql`SELECT pg_advisory_xact_lock(${lockKey}::bigint)`.execute(tx)
  // A statement that waits for a table lock blocks all later statements on that table. Give up early, so that other
  // replicas can handle requests.
  await sql`SET LOCAL lock_timeout = '2s'`.execute(tx)
  const applied = await prepareTable(tx)
  const pending = pendingMigrations(owners, applied)
  await fillChecksums(tx, withoutChecksum(owners, applied))
  const watched = tx.withPlugin({
    transformQuery: ({ node }) => {
      progress.statement = node
      return node
    },
    transformResult: async ({ result }) => result,
  })
  for (const { owner, name, up, checksum = null } of pending) {
    Object.assign(progress, { migration: `${owner}/${name}`, statement: undefined })
    await up(watched)
    await tx
      .insertInto('portico_migrations')
      .values({ owner, name, checksum, ...thisRelease })
      .execute()
  }
  delete progress.migration
  return pending.map(({ owner, name }) => `${owner}/${name}`)
}

function describeFailure({ migration, statement }: Progress): string {
  if (!migration) return 'a migration failed'
  const text = statement && new ColumnCompiler().compileQuery(statement, createQueryId()).sql
  const place = text ? ` at the statement \`${text.replaceAll(/\s+/g, ' ').trim().slice(0, 200)}\`` : ''
  return `the migration ${migration} failed${place}; nothing was migrated`
}
