import { type Instant, type Portal, toDate } from '../../kernel/index.ts'
import { type Database, moment, type Tx } from '../../platform/database/index.ts'
import type { CodePurpose } from '../../platform/database/tables/identity.ts'

/** What a code is for: the one pre-login or live session that it was sent for. */
export interface CodeOwner {
  portal: Portal
  owner: string
  purpose: CodePurpose
}

/** Puts a code in the place of the owner's last one, which is dead from then on. */
export const replaceCode = async (
  tx: Tx,
  { portal, owner, purpose }: CodeOwner,
  codeDigest: Uint8Array,
  sentAt: Instant,
  expiresAt: Instant,
): Promise<void> => {
  const code = { code_digest: codeDigest, sent_at: toDate(sentAt), expires_at: toDate(expiresAt), used_at: null }
  await tx
    .insertInto('one_time_codes')
    .values({ portal, owner, purpose, ...code })
    .onConflict((conflict) => conflict.columns(['owner', 'purpose']).doUpdateSet(code))
    .execute()
}

/** The same, unless one was sent since `notSince`: whether the code has taken its place. */
export const renewCode = async (
  database: Database,
  { portal, owner, purpose }: CodeOwner,
  codeDigest: Uint8Array,
  sentAt: Instant,
  expiresAt: Instant,
  notSince: Instant,
): Promise<boolean> => {
  const code = { code_digest: codeDigest, sent_at: toDate(sentAt), expires_at: toDate(expiresAt), used_at: null }
  const renewed = await database
    .insertInto('one_time_codes')
    .values({ portal, owner, purpose, ...code })
    .onConflict((conflict) =>
      conflict.columns(['owner', 'purpose']).doUpdateSet(code).where('one_time_codes.sent_at', '<=', moment(notSince)),
    )
    .returning('owner')
    .executeTakeFirst()
  return renewed !== undefined
}

/** When the owner's last code was sent; null where none was. */
export const codeSentAt = async (
  database: Database,
  { portal, owner, purpose }: CodeOwner,
): Promise<Instant | null> => {
  const known = await database
    .selectFrom('one_time_codes')
    .select('sent_at')
    .where('portal', '=', portal)
    .where('owner', '=', owner)
    .where('purpose', '=', purpose)
    .executeTakeFirst()
  return known?.sent_at ?? null
}

/** Spends a code, once: whether it was the right one, unused and in time. */
export const spendCode = async (
  tx: Tx,
  { portal, owner, purpose }: CodeOwner,
  codeDigest: Uint8Array,
  now: Instant,
): Promise<boolean> => {
  const spent = await tx
    .updateTable('one_time_codes')
    .set({ used_at: toDate(now) })
    .where('portal', '=', portal)
    .where('owner', '=', owner)
    .where('purpose', '=', purpose)
    .where('code_digest', '=', codeDigest)
    .where('used_at', 'is', null)
    .where('expires_at', '>', moment(now))
    .returning('owner')
    .executeTakeFirst()
  return spent !== undefined
}
