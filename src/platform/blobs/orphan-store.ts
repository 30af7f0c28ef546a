import { sql } from 'kysely'
import { type Database, moment, type Tx } from '../../database/index.ts'
import type { Instant } from '../../kernel/index.ts'

/** Writes down keys whose bytes are to be deleted from an instant on, unless a row has named them by then. */
export const addOrphanBlobs = async (store: Database | Tx, keys: readonly string[], dueAt: Instant): Promise<void> => {
  if (keys.length === 0) return
  await sql`INSERT INTO unnamed_blobs (blob_key, due_at) SELECT unnest(${keys}::text[]), ${moment(dueAt)}`.execute(
    store,
  )
}

/** Belongs into the transaction of the row that names the blob; false where its bytes are gone already, or just going. */
export const claimBlob = async (tx: Tx, key: string): Promise<boolean> => {
  const named = await tx
    .deleteFrom('unnamed_blobs')
    .where('blob_key', '=', key)
    .where('is_doomed', '=', false)
    .returning('blob_key')
    .executeTakeFirst()
  return named !== undefined
}

/**
 * Keys of a room that are due, the longest first, so many at most, which no row can name from now on; those of an earlier
 * time among them, `besides` some that have been tried.
 */
export const markForDeletion = async (
  database: Database,
  room: string,
  at: Instant,
  { most, besides }: { most: number; besides: readonly string[] },
): Promise<string[]> => {
  const due = database
    .selectFrom('unnamed_blobs')
    .select('blob_key')
    .where('due_at', '<=', moment(at))
    .where('blob_key', 'like', `${room}/%`)
    .where(sql<boolean>`blob_key <> ALL (${besides}::text[])`)
    .orderBy('due_at')
    .limit(most)
  const doomed = await database
    .updateTable('unnamed_blobs')
    .set({ is_doomed: true })
    .where('blob_key', 'in', due)
    .returning(['blob_key', 'due_at'])
    .execute()
  return doomed.sort((one, other) => one.due_at - other.due_at).map(({ blob_key }) => blob_key)
}

/** Keys that are doomed and still have their bytes: the others that are due come first. */
export const postponeDeletion = async (database: Database, keys: readonly string[], at: Instant): Promise<void> => {
  await sql`UPDATE unnamed_blobs SET due_at = ${moment(at)} WHERE blob_key = ANY (${keys}::text[])`.execute(database)
}

/** For keys that are doomed, once their bytes are gone. */
export const removeDeleted = async (database: Database, keys: readonly string[]): Promise<void> => {
  await sql`DELETE FROM unnamed_blobs WHERE is_doomed AND blob_key = ANY (${keys}::text[])`.execute(database)
}
