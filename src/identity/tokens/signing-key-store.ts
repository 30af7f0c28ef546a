import { sql } from 'kysely'
import { type Database, moment, type Tx } from '../../database/index.ts'
import { type Instant, toDate } from '../../kernel/index.ts'

/** A signing key as it lies in the store: its private half sealed. */
export interface StoredSigningKey {
  kid: string
  publicKey: Uint8Array
  privateKey: Uint8Array
  activatesAt: Instant
  /** From then on nothing that it signed is good any more; null while no other has taken its place. */
  retiresAt: Instant | null
}

/** The keys that sign or still verify, newest first. */
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
    .where((where) => where.or([where('retires_at', 'is', null), where('retires_at', '>', moment(now))]))
    .orderBy('activates_at', 'desc')
    .execute()

/** One replica at a time adds a key; readers are not held up. */
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

/** Gives every key that has no end yet its end, and forgets those that are past theirs. */
export const retireSigningKeys = async (tx: Tx, retiresAt: Instant, now: Instant): Promise<void> => {
  await tx.deleteFrom('signing_keys').where('retires_at', '<=', moment(now)).execute()
  await tx
    .updateTable('signing_keys')
    .set({ retires_at: toDate(retiresAt) })
    .where('retires_at', 'is', null)
    .execute()
}
