import { sql } from 'kysely'
import { type Tx, timestamptz } from '../../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../../kernel/index.ts'

interface FactorOwner {
  portal: Portal
  id: AccountId
}

export interface FormerAuthenticator {
  enrolledAt: Instant
  endedAt: Instant
  lastUsedAt: Instant | null
}

export const insertFormerAuthenticator = async (
  tx: Tx,
  { portal, id }: FactorOwner,
  { enrolledAt, endedAt, lastUsedAt }: FormerAuthenticator,
): Promise<void> => {
  await tx
    .insertInto('former_factors')
    .values({
      portal,
      account_biz_id: id,
      method: 'OTP',
      enrolled_at: toDate(enrolledAt),
      ended_at: toDate(endedAt),
      last_used_at: lastUsedAt === null ? null : toDate(lastUsedAt),
    })
    .execute()
}

/** Call before the codes are replaced. Keeps nothing if no code was used. */
export const keepUsedBackupCodes = async (tx: Tx, { portal, id }: FactorOwner, at: Instant): Promise<void> => {
  await sql`
    INSERT INTO former_factors (account_biz_id, portal, method, enrolled_at, ended_at, last_used_at)
    SELECT account_biz_id, portal, 'BACKUP_CODE', max(generated_at), ${timestamptz(at)}, max(used_at) FROM backup_codes
     WHERE portal = ${portal} AND account_biz_id = ${id} AND used_at IS NOT NULL
     GROUP BY account_biz_id, portal`.execute(tx)
}

/** When the account last lost an authenticator. Null if it never did. */
export const formerAuthenticatorEnd = async (tx: Tx, { portal, id }: FactorOwner): Promise<Instant | null> => {
  const { endedAt } = await tx
    .selectFrom('former_factors')
    .where('portal', '=', portal)
    .where('account_biz_id', '=', id)
    .where('method', '=', 'OTP')
    .select((eb) => eb.fn.max<Instant | null>('ended_at').as('endedAt'))
    .executeTakeFirstOrThrow()
  return endedAt
}

export const isFormerFactorUsedSince = async (
  tx: Tx,
  { portal, id }: FactorOwner,
  { since, enrolledBy }: { since: Instant; enrolledBy: Instant },
): Promise<boolean> => {
  const used = await tx
    .selectFrom('former_factors')
    .select('method')
    .where('portal', '=', portal)
    .where('account_biz_id', '=', id)
    .where('enrolled_at', '<=', timestamptz(enrolledBy))
    .where('last_used_at', '>', timestamptz(since))
    .limit(1)
    .executeTakeFirst()
  return used !== undefined
}

export const deleteFormerFactors = async (tx: Tx, { portal, id }: FactorOwner): Promise<void> => {
  await tx.deleteFrom('former_factors').where('portal', '=', portal).where('account_biz_id', '=', id).execute()
}
