import { sql } from 'kysely'
import type { Instant } from '../../kernel/index.ts'
import { type Database, moment, type Tx } from '../database/index.ts'

/** Writes down keys whose bytes are to be deleted from an instant on, unless a row has named them by then. */
export const addUnnamed = async (store: Database | Tx, keys: readonly string[], dueAt: Instant): Promise<void> => {
  if (keys.length === 0) return
  await sql`INSERT INTO unnamed_blobs (blob_key, due_at) SELECT unnest(${keys}::text[]), ${moment(dueAt)}`.execute(
    store,
  )
}

/** Belongs into the transaction of the row that names the blob; false where its bytes are gone already, or just going. */
export const nameBlob = async (tx: Tx, key: string): Promise<boolean> => {
  const named = await tx
    .deleteFrom('unnamed_blobs')
    .where('blob_key', '=', key)
    .where('is_doomed', '=', false)
    .returning('blob_key')
    .executeTakeFirst()
  return named !== undefined
}

/** Keys of a room that are due, so many at most, which no row can name from now on; those of an earlier time among them. */
export const doomBlobs = async (database: Database, room: string, at: Instant, most: number): Promise<string[]> => {
  const due = database
    .selectFrom('unnamed_blobs')
    .select('blob_key')
    .where('due_at', '<=', moment(at))
    .where('blob_key', 'like', `${room}/%`)
    .orderBy('due_at')
    .limit(most)
  const doomed = await database
    .updateTable('unnamed_blobs')
    .set({ is_doomed: true })
    .where('blob_key', 'in', due)
    .returning('blob_key')
    .execute()
  return doomed.map(({ blob_key }) => blob_key)
}

/** For keys that are doomed, once their bytes are gone. */
export const forgetDoomed = async (database: Database, keys: readonly string[]): Promise<void> => {
  await sql`DELETE FROM unnamed_blobs WHERE is_doomed AND blob_key = ANY (${keys}::text[])`.execute(database)
}
