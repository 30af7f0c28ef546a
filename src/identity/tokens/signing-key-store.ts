import { sql } from 'kysely'
import { type Database, type Tx, timestamptz } from '../../database/index.ts'
import { type Instant, toDate } from '../../kernel/index.ts'

/** A stored signing key. Its private half is encrypted. */
export interface StoredSigningKey {
  kid: string
  publicKey: Uint8Array
  privateKey: Uint8Array
  activatesAt: Instant
  /** When everything that it signed has expired; null for the newest key. */
  retiresAt: Instant | null
}

/** Returns the keys that sign or verify, newest first. */
export const readSigningKeys = (store: Database | Tx, now: Instant): Promise<StoredSigningKey[]> =>
  store
    .selectFrom('signing_keys')
    .select([
      'kid',
      'public_key as publicKey',
      'private_key as privateKey',
      'activates_at as activatesAt',
      'retires_at as retiresAt',
    ])
    .where((where) => where.or([where('retires_at', 'is', null), where('retires_at', '>', timestamptz(now))]))
    .orderBy('activates_at', 'desc')
    .execute()

/** Serializes adding keys; readers do not wait. */
export const lockSigningKeys = async (tx: Tx): Promise<void> => {
  await sql`LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE`.execute(tx)
}

export const insertSigningKey = async (
  tx: Tx,
  key: Omit<StoredSigningKey, 'retiresAt'>,
  at: Instant,
): Promise<void> => {
  await tx
    .insertInto('signing_keys')
    .values({
      kid: key.kid,
      algorithm: 'EdDSA',
      public_key: key.publicKey,
      private_key: key.privateKey,
      created_at: toDate(at),
      activates_at: toDate(key.activatesAt),
    })
    .execute()
}

/** Sets the retirement of every key that has none, and deletes retired keys. */
export const retireSigningKeys = async (tx: Tx, retiresAt: Instant, now: Instant): Promise<void> => {
  await tx.deleteFrom('signing_keys').where('retires_at', '<=', timestamptz(now)).execute()
  await tx
    .updateTable('signing_keys')
    .set({ retires_at: toDate(retiresAt) })
    .where('retires_at', 'is', null)
    .execute()
}
