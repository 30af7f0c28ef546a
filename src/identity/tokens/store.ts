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
      tokenDigest: param('digest'),
      portal: param('portal'),
      sessionBizId: param('sessionId'),
      parentDigest: param('parent'),
      createdAt: param('at'),
      expiresAt: param('expiresAt'),
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
    .set({ usedAt: toDate(at), successor })
    .where('portal', '=', portal)
    .where('tokenDigest', '=', digest)
    .where('usedAt', 'is', null)
    .returning('tokenDigest')
    .executeTakeFirst()
  return spent !== undefined
}

/** Returns undefined if the successor was used, too. */
export function readSpentToken(
  tx: Tx,
  portal: Portal,
  digest: Uint8Array,
): Promise<{ usedAt: Instant | null; successor: Uint8Array | null } | undefined> {
  return tx
    .selectFrom('refresh_tokens as spent')
    .innerJoin('refresh_tokens as next', 'next.parentDigest', 'spent.tokenDigest')
    .select(['spent.usedAt', 'spent.successor'])
    .where('spent.portal', '=', portal)
    .where('spent.tokenDigest', '=', digest)
    .where('next.usedAt', 'is', null)
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
    .select(['kid', 'publicKey', 'privateKey', 'activatesAt', 'retiresAt'])
    .where((where) => where.or([where('retiresAt', 'is', null), where('retiresAt', '>', timestamptz(now))]))
    .orderBy('activatesAt', 'desc')
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
      publicKey: key.publicKey,
      privateKey: key.privateKey,
      createdAt: toDate(at),
      activatesAt: toDate(key.activatesAt),
    })
    .execute()
}

export async function deleteSigningKey(tx: Tx, kid: string): Promise<boolean> {
  const deleted = await tx.deleteFrom('signing_keys').where('kid', '=', kid).returning('kid').executeTakeFirst()
  return deleted !== undefined
}

/** Deletes retired keys. Sets the retirement time of keys that have none. */
export async function retireSigningKeys(tx: Tx, retiresAt: Instant, now: Instant): Promise<void> {
  await tx.deleteFrom('signing_keys').where('retiresAt', '<=', timestamptz(now)).execute()
  await tx
    .updateTable('signing_keys')
    .set({ retiresAt: toDate(retiresAt) })
    .where('retiresAt', 'is', null)
    .execute()
}
