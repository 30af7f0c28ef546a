import { type Database, type Tx, validAt } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'
import type { PasswordTokenPurpose } from './schema.ts'

export interface PasswordToken {
  digest: Uint8Array
  portal: Portal
  accountId: AccountId
  purpose: PasswordTokenPurpose
  expiresAt: Instant
}

export const insertPasswordToken = async (store: Database | Tx, token: PasswordToken, at: Instant): Promise<void> => {
  await store
    .insertInto('password_tokens')
    .values({
      token_digest: token.digest,
      portal: token.portal,
      account_biz_id: token.accountId,
      purpose: token.purpose,
      created_at: toDate(at),
      expires_at: toDate(token.expiresAt),
    })
    .execute()
}

/** What names a token to whoever was handed it. */
export type NamedToken = Pick<PasswordToken, 'portal' | 'purpose' | 'digest'>

/** Whose token it is, while it is good. */
export const accountOfToken = async (
  database: Database,
  { portal, purpose, digest }: NamedToken,
  now: Instant,
): Promise<AccountId | undefined> => {
  const row = await database
    .selectFrom('password_tokens')
    .select('account_biz_id')
    .where('portal', '=', portal)
    .where('purpose', '=', purpose)
    .where('token_digest', '=', digest)
    .where('used_at', 'is', null)
    .where(validAt('created_at', 'expires_at', now))
    .executeTakeFirst()
  return row?.account_biz_id
}

/** Spends a token, once. */
export const spendPasswordToken = async (
  tx: Tx,
  { portal, purpose, digest }: NamedToken,
  now: Instant,
): Promise<boolean> => {
  const spent = await tx
    .updateTable('password_tokens')
    .set({ used_at: toDate(now) })
    .where('portal', '=', portal)
    .where('purpose', '=', purpose)
    .where('token_digest', '=', digest)
    .where('used_at', 'is', null)
    .where(validAt('created_at', 'expires_at', now))
    .returning('token_digest')
    .executeTakeFirst()
  return spent !== undefined
}

/** Whatever links an account has out are dead: its password has just been set by another way. */
export const voidPasswordTokens = async (tx: Tx, portal: Portal, accountId: AccountId, now: Instant): Promise<void> => {
  await tx
    .updateTable('password_tokens')
    .set({ used_at: toDate(now) })
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .where('used_at', 'is', null)
    .execute()
}
