import { sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import type { Instant } from '../../kernel/index.ts'
import { type Head, start } from './store.ts'

/** The last entry that the store no longer needs. Verification starts behind it. */
export async function readStart(database: Database): Promise<Head> {
  return (await database.selectFrom('audit_archive').select(['sequence', 'hash']).executeTakeFirst()) ?? start
}

export interface Link extends Head {
  previousHash: Uint8Array
}

/** Archived entries behind a sequence number, for a chain whose neighbours lie in different partitions. */
export function archivedLinks(database: Database, after: number, limit: number): Promise<Link[]> {
  return database
    .selectFrom('audit_archive_links')
    .select(['sequence', 'previousHash', 'hash'])
    .where('sequence', '>', after)
    .orderBy('sequence')
    .limit(limit)
    .execute()
}

interface Partition {
  name: string
  upper: Instant
}

export async function countUnsealed(database: Database, { name }: Partition): Promise<number> {
  const { rows } = await sql<{ entries: number }>`
    SELECT count(*) AS entries FROM ${sql.table(name)} WHERE sequence IS NULL`.execute(database)
  return rows[0]?.entries ?? 0
}

export async function lastSealed(database: Database, { name }: Partition): Promise<Head | undefined> {
  const { rows } = await sql<Head>`
    SELECT sequence, hash FROM ${sql.table(name)} WHERE sequence IS NOT NULL ORDER BY sequence DESC LIMIT 1`.execute(
    database,
  )
  return rows[0]
}

/**
 * Moves the start of the chain to the entry before the first one that stays. Archived entries behind that one remain as
 * links: at the end of a month, entries were not sealed in the order of their times.
 */
export async function recordArchivedEntries(tx: Tx, { name, upper }: Partition): Promise<void> {
  const partition = sql.table(name)
  const first = await tx
    .selectFrom('audit_log')
    .select(sql<number>`sequence`.as('sequence'))
    .where('at', '>=', timestamptz(upper))
    .where('sequence', 'is not', null)
    .orderBy('sequence')
    .limit(1)
    .executeTakeFirst()
  await sql`
    INSERT INTO audit_archive_links (sequence, previous_hash, hash)
    SELECT sequence, previous_hash, hash FROM ${partition}
     WHERE sequence >= coalesce(${first ? first.sequence - 1 : null}::bigint, (SELECT max(sequence) FROM ${partition}))`.execute(
    tx,
  )
  const last = tx
    .selectFrom('audit_archive_links')
    .select(['sequence', 'hash'])
    .orderBy('sequence', 'desc')
    .$if(first !== undefined, (found) => found.where('sequence', '<', first?.sequence ?? 0))
  const moved = await last.limit(1).executeTakeFirst()
  if (!moved) return
  const values = { sequence: moved.sequence, hash: Buffer.from(moved.hash) }
  await tx
    .insertInto('audit_archive')
    .values(values)
    .onConflict((conflict) => conflict.column('isOnly').doUpdateSet(values))
    .execute()
  await tx.deleteFrom('audit_archive_links').where('sequence', '<=', moved.sequence).execute()
}
