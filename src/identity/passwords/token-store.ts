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

/** Identifies a token that a client presents. */
export type TokenKey = Pick<PasswordToken, 'portal' | 'purpose' | 'digest'>

/** Returns the account of a token that is neither spent nor expired. */
export const findTokenAccount = async (
  database: Database,
  { portal, purpose, digest }: TokenKey,
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

/** Spends a token. Returns false if it is spent or expired. */
export const spendPasswordToken = async (
  tx: Tx,
  { portal, purpose, digest }: TokenKey,
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

/** Cancels all tokens of an account, because its password has changed. */
export const cancelPasswordTokens = async (
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  now: Instant,
): Promise<void> => {
  await tx
    .updateTable('password_tokens')
    .set({ used_at: toDate(now) })
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .where('used_at', 'is', null)
    .execute()
}
