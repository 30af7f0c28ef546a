import { type Database, type Tx, validAt } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'
import type { PasswordTokenPurpose } from './schema.ts'

/** Returns false if the password was changed concurrently. */
export async function setPassword(
  tx: Tx,
  { portal, id, passwordHash }: { portal: Portal; id: AccountId; passwordHash: string | null },
  hash: string,
  at: Instant,
): Promise<boolean> {
  const set = await tx
    .updateTable('accounts')
    .set({ passwordHash: hash, passwordChangedAt: toDate(at), updatedAt: toDate(at) })
    .where('portal', '=', portal)
    .where('bizId', '=', id)
    .where('passwordHash', 'is not distinct from', passwordHash)
    .returning('bizId')
    .executeTakeFirst()
  return set !== undefined
}

/** Replaces the hash of a password, unless the password has changed since `from` was read. */
export async function replaceHash(
  database: Database,
  portal: Portal,
  id: AccountId,
  from: string,
  to: string,
): Promise<void> {
  await database
    .updateTable('accounts')
    .set({ passwordHash: to })
    .where('portal', '=', portal)
    .where('bizId', '=', id)
    .where('passwordHash', '=', from)
    .execute()
}

/** Only the digest is stored. */
export interface PasswordToken {
  digest: Uint8Array
  portal: Portal
  accountId: AccountId
  purpose: PasswordTokenPurpose
  expiresAt: Instant
}

export async function insertPasswordToken(store: Database | Tx, token: PasswordToken, at: Instant): Promise<void> {
  await store
    .insertInto('password_tokens')
    .values({
      tokenDigest: token.digest,
      portal: token.portal,
      accountBizId: token.accountId,
      purpose: token.purpose,
      createdAt: toDate(at),
      expiresAt: toDate(token.expiresAt),
    })
    .execute()
}

export type TokenKey = Pick<PasswordToken, 'portal' | 'purpose' | 'digest'>

/** Returns undefined if the token is unknown, used or expired. */
export async function findTokenAccount(
  database: Database | Tx,
  { portal, purpose, digest }: TokenKey,
  now: Instant,
): Promise<AccountId | undefined> {
  const row = await database
    .selectFrom('password_tokens')
    .select('accountBizId')
    .where('portal', '=', portal)
    .where('purpose', '=', purpose)
    .where('tokenDigest', '=', digest)
    .where('usedAt', 'is', null)
    .where(validAt('createdAt', 'expiresAt', now))
    .executeTakeFirst()
  return row?.accountBizId
}

/** Returns false if the token is used or expired. */
export async function spendPasswordToken(
  tx: Tx,
  { portal, purpose, digest }: TokenKey,
  now: Instant,
): Promise<boolean> {
  const spent = await tx
    .updateTable('password_tokens')
    .set({ usedAt: toDate(now) })
    .where('portal', '=', portal)
    .where('purpose', '=', purpose)
    .where('tokenDigest', '=', digest)
    .where('usedAt', 'is', null)
    .where(validAt('createdAt', 'expiresAt', now))
    .returning('tokenDigest')
    .executeTakeFirst()
  return spent !== undefined
}

/** By default, links that undo factors stay valid: a thief could otherwise cancel them with a new password. */
export async function cancelPasswordTokens(
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  now: Instant,
  purposes: readonly PasswordTokenPurpose[] = ['INIT', 'RESET'],
): Promise<void> {
  await tx
    .updateTable('password_tokens')
    .set({ usedAt: toDate(now) })
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('purpose', 'in', purposes)
    .where('usedAt', 'is', null)
    .execute()
}
