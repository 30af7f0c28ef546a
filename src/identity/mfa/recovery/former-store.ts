import type { Tx } from '../../../database/index.ts'
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

export async function insertFormerAuthenticator(
  tx: Tx,
  { portal, id }: FactorOwner,
  { enrolledAt, endedAt, lastUsedAt }: FormerAuthenticator,
): Promise<void> {
  await tx
    .insertInto('former_factors')
    .values({
      portal,
      accountBizId: id,
      method: 'OTP',
      enrolledAt: toDate(enrolledAt),
      endedAt: toDate(endedAt),
      lastUsedAt: lastUsedAt === null ? null : toDate(lastUsedAt),
    })
    .execute()
}

/** When the account last lost an authenticator. Null if it never did. */
export async function formerAuthenticatorEnd(tx: Tx, { portal, id }: FactorOwner): Promise<Instant | null> {
  const { endedAt } = await tx
    .selectFrom('former_factors')
    .where('portal', '=', portal)
    .where('accountBizId', '=', id)
    .where('method', '=', 'OTP')
    .select((eb) => eb.fn.max<Instant | null>('endedAt').as('endedAt'))
    .executeTakeFirstOrThrow()
  return endedAt
}

export async function deleteFormerFactors(tx: Tx, { portal, id }: FactorOwner): Promise<void> {
  await tx.deleteFrom('former_factors').where('portal', '=', portal).where('accountBizId', '=', id).execute()
}
