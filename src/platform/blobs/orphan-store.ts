import { sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import type { Instant } from '../../kernel/index.ts'

/** Call this before the blobs are written. Blobs that no row has claimed at `dueAt` are deleted. */
export async function addOrphanBlobs(store: Database | Tx, keys: readonly string[], dueAt: Instant): Promise<void> {
  if (keys.length === 0) return
  await sql`INSERT INTO unnamed_blobs (blob_key, due_at) SELECT unnest(${keys}::text[]), ${timestamptz(dueAt)}`.execute(
    store,
  )
}

/** Call this in the transaction that inserts the row. Returns false if the blob has been deleted or is about to be. */
export async function claimBlob(tx: Tx, key: string): Promise<boolean> {
  const claimed = await tx
    .deleteFrom('unnamed_blobs')
    .where('blobKey', '=', key)
    .where('isDoomed', '=', false)
    .returning('blobKey')
    .executeTakeFirst()
  return claimed !== undefined
}

/**
 * No row can claim a marked key. Returns the longest due keys first, including those that an earlier cleanup marked.
 */
export async function markForDeletion(
  database: Database,
  area: string,
  at: Instant,
  { max, excluded }: { max: number; excluded: readonly string[] },
): Promise<string[]> {
  const due = database
    .selectFrom('unnamed_blobs')
    .select('blobKey')
    .where('dueAt', '<=', timestamptz(at))
    .where('blobKey', 'like', `${area}/%`)
    .where(sql<boolean>`blob_key <> ALL (${excluded}::text[])`)
    .orderBy('dueAt')
    .limit(max)
  const marked = await database
    .updateTable('unnamed_blobs')
    .set({ isDoomed: true })
    .where('blobKey', 'in', due)
    .returning(['blobKey', 'dueAt'])
    .execute()
  return marked.sort((one, other) => one.dueAt - other.dueAt).map(({ blobKey }) => blobKey)
}

export async function postponeDeletion(database: Database, keys: readonly string[], at: Instant): Promise<void> {
  await sql`UPDATE unnamed_blobs SET due_at = ${timestamptz(at)} WHERE blob_key = ANY (${keys}::text[])`.execute(
    database,
  )
}

/** Call this once the blobs are deleted. */
export async function removeDeleted(database: Database, keys: readonly string[]): Promise<void> {
  await sql`DELETE FROM unnamed_blobs WHERE is_doomed AND blob_key = ANY (${keys}::text[])`.execute(database)
}
