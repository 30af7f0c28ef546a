import { sql } from 'kysely'
import { type Database, inTransaction, timestamptz } from '../../database/index.ts'
import { addMs, type Instant, toDate } from '../../kernel/index.ts'

/** A stored channel key. `privateKey` is encrypted. */
export interface StoredChannelKey {
  keyId: string
  publicKey: Uint8Array
  privateKey: Uint8Array
  createdAt: Instant
  expiresAt: Instant
}

/** Newest first. */
export function readChannelKeys(database: Database, now: Instant): Promise<StoredChannelKey[]> {
  return database
    .selectFrom('channel_keys')
    .select(['keyId', 'publicKey', 'privateKey', 'createdAt', 'expiresAt'])
    .where('expiresAt', '>', timestamptz(now))
    .orderBy('createdAt', 'desc')
    .execute()
}

/**
 * Adds nothing if another replica has just added a key. Ignores keys created in the future, because a replica whose
 * clock was set back does not offer them.
 */
export function addChannelKey(database: Database, key: StoredChannelKey, overlap: number): Promise<void> {
  return inTransaction(database, async (tx) => {
    await sql`LOCK TABLE channel_keys IN SHARE ROW EXCLUSIVE MODE`.execute(tx)
    const fresh = await tx
      .selectFrom('channel_keys')
      .select('keyId')
      .where('expiresAt', '>', timestamptz(addMs(key.createdAt, overlap)))
      .where('createdAt', '<=', timestamptz(key.createdAt))
      .executeTakeFirst()
    if (fresh) return
    await tx.deleteFrom('channel_keys').where('expiresAt', '<=', timestamptz(key.createdAt)).execute()
    await tx
      .insertInto('channel_keys')
      .values({
        keyId: key.keyId,
        publicKey: key.publicKey,
        privateKey: key.privateKey,
        createdAt: toDate(key.createdAt),
        expiresAt: toDate(key.expiresAt),
      })
      .execute()
  })
}
