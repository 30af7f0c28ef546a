import type { Tx } from '../../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../../kernel/index.ts'

interface FactorOwner {
  portal: Portal
  id: AccountId
}

export interface FormerFactor {
  method: 'OTP' | 'PASSKEY'
  enrolledAt: Instant
  endedAt: Instant
  lastUsedAt: Instant | null
}

export async function insertFormerFactor(
  tx: Tx,
  { portal, id }: FactorOwner,
  { method, enrolledAt, endedAt, lastUsedAt }: FormerFactor,
): Promise<void> {
  await tx
    .insertInto('former_factors')
    .values({
      portal,
      accountBizId: id,
      method,
      enrolledAt: toDate(enrolledAt),
      endedAt: toDate(endedAt),
      lastUsedAt: lastUsedAt === null ? null : toDate(lastUsedAt),
    })
    .execute()
}

/** When the account last lost an authenticator or a passkey. Null if it never did. */
export async function formerFactorEnd(tx: Tx, { portal, id }: FactorOwner): Promise<Instant | null> {
  const { endedAt } = await tx
    .selectFrom('former_factors')
    .where('portal', '=', portal)
    .where('accountBizId', '=', id)
    .where('method', 'in', ['OTP', 'PASSKEY'])
    .select((eb) => eb.fn.max<Instant | null>('endedAt').as('endedAt'))
    .executeTakeFirstOrThrow()
  return endedAt
}

export async function deleteFormerFactors(tx: Tx, { portal, id }: FactorOwner): Promise<void> {
  await tx.deleteFrom('former_factors').where('portal', '=', portal).where('accountBizId', '=', id).execute()
}
