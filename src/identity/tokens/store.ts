import { sql } from 'kysely'
import { type Database, type Param, type Statements, statement, type Tx, timestamptz } from '../../database/index.ts'
import { type Instant, type Portal, type SessionId, toDate } from '../../kernel/index.ts'

/** A refresh token to insert. `parent` is the token that it replaces. */
export interface NewRefreshToken {
  digest: Uint8Array
  portal: Portal
  sessionId: SessionId
  parent: Uint8Array | null
  expiresAt: Instant
}

const insertRow = statement(
  (store, param: Param<Omit<NewRefreshToken, 'expiresAt'> & Record<'at' | 'expiresAt', Date>>) =>
    store.insertInto('refresh_tokens').values({
      token_digest: param('digest'),
      portal: param('portal'),
      session_biz_id: param('sessionId'),
      parent_digest: param('parent'),
      created_at: param('at'),
      expires_at: param('expiresAt'),
    }),
)

export function insertRefreshToken(token: NewRefreshToken, at: Instant): Statements<unknown> {
  return insertRow.with({ ...token, at: toDate(at), expiresAt: toDate(token.expiresAt) })
}

/** Returns false if the token was used before. */
export async function spendRefreshToken(
  tx: Tx,
  portal: Portal,
  digest: Uint8Array,
  successor: Uint8Array,
  at: Instant,
): Promise<boolean> {
  const spent = await tx
    .updateTable('refresh_tokens')
    .set({ used_at: toDate(at), successor })
    .where('portal', '=', portal)
    .where('token_digest', '=', digest)
    .where('used_at', 'is', null)
    .returning('token_digest')
    .executeTakeFirst()
  return spent !== undefined
}

export function usedRefreshToken(
  tx: Tx,
  portal: Portal,
  digest: Uint8Array,
): Promise<{ usedAt: Instant | null; successor: Uint8Array | null } | undefined> {
  return tx
    .selectFrom('refresh_tokens')
    .select(['used_at as usedAt', 'successor'])
    .where('portal', '=', portal)
    .where('token_digest', '=', digest)
    .executeTakeFirst()
}

/** The private half is encrypted. */
export interface StoredSigningKey {
  kid: string
  publicKey: Uint8Array
  privateKey: Uint8Array
  activatesAt: Instant
  retiresAt: Instant | null
}

export function readSigningKeys(store: Database | Tx, now: Instant): Promise<StoredSigningKey[]> {
  return store
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
}

/** Blocks concurrent additions, but not readers. */
export async function lockSigningKeys(tx: Tx): Promise<void> {
  await sql`LOCK TABLE signing_keys IN SHARE ROW EXCLUSIVE MODE`.execute(tx)
}

export async function insertSigningKey(tx: Tx, key: Omit<StoredSigningKey, 'retiresAt'>, at: Instant): Promise<void> {
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

export async function deleteSigningKey(tx: Tx, kid: string): Promise<boolean> {
  const deleted = await tx.deleteFrom('signing_keys').where('kid', '=', kid).returning('kid').executeTakeFirst()
  return deleted !== undefined
}

/** Deletes retired keys. Sets the retirement time of keys that have none. */
export async function retireSigningKeys(tx: Tx, retiresAt: Instant, now: Instant): Promise<void> {
  await tx.deleteFrom('signing_keys').where('retires_at', '<=', timestamptz(now)).execute()
  await tx
    .updateTable('signing_keys')
    .set({ retires_at: toDate(retiresAt) })
    .where('retires_at', 'is', null)
    .execute()
}
