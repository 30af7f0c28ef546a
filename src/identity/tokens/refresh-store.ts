import { type Param, statement, type Tx } from '../../database/index.ts'
import { type Instant, type Portal, type SessionId, toDate } from '../../kernel/index.ts'

export interface NewRefreshToken {
  digest: Uint8Array
  portal: Portal
  sessionId: SessionId
  parent: Uint8Array | null
  expiresAt: Instant
}

const insertRow = statement(
  (store, given: Param<Omit<NewRefreshToken, 'expiresAt'> & Record<'at' | 'expiresAt', Date>>) =>
    store.insertInto('refresh_tokens').values({
      token_digest: given('digest'),
      portal: given('portal'),
      session_biz_id: given('sessionId'),
      parent_digest: given('parent'),
      created_at: given('at'),
      expires_at: given('expiresAt'),
    }),
)

export const insertRefreshToken = async (tx: Tx, token: NewRefreshToken, at: Instant): Promise<void> => {
  await insertRow.all(tx, { ...token, at: toDate(at), expiresAt: toDate(token.expiresAt) })
}

/** The session that a token belongs to. */
export const sessionOfRefreshToken = async (
  tx: Tx,
  portal: Portal,
  digest: Uint8Array,
): Promise<SessionId | undefined> => {
  const row = await tx
    .selectFrom('refresh_tokens')
    .select('session_biz_id')
    .where('portal', '=', portal)
    .where('token_digest', '=', digest)
    .executeTakeFirst()
  return row?.session_biz_id
}

/** Spends a token and stores its encrypted successor. Returns false if it was used before. */
export const spendRefreshToken = async (
  tx: Tx,
  portal: Portal,
  digest: Uint8Array,
  successor: Uint8Array,
  at: Instant,
): Promise<boolean> => {
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

/** When a token was used, and its encrypted successor. */
export const usedRefreshToken = (
  tx: Tx,
  portal: Portal,
  digest: Uint8Array,
): Promise<{ usedAt: Instant | null; successor: Uint8Array | null } | undefined> =>
  tx
    .selectFrom('refresh_tokens')
    .select(['used_at as usedAt', 'successor'])
    .where('portal', '=', portal)
    .where('token_digest', '=', digest)
    .executeTakeFirst()
