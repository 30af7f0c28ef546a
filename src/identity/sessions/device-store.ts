import { type AccountId, type Instant, toDate } from '../../kernel/index.ts'
import type { Tx } from '../../platform/database/index.ts'

/** Remembers the client that an account signs in with; whether it is the first time. */
export const rememberDevice = async (
  tx: Tx,
  accountId: AccountId,
  clientDigest: Uint8Array,
  at: Instant,
): Promise<boolean> => {
  const made = await tx
    .insertInto('known_devices')
    .values({
      account_biz_id: accountId,
      client_digest: clientDigest,
      first_seen_at: toDate(at),
      last_seen_at: toDate(at),
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning('account_biz_id')
    .executeTakeFirst()
  if (made) return true
  await tx
    .updateTable('known_devices')
    .set({ last_seen_at: toDate(at) })
    .where('account_biz_id', '=', accountId)
    .where('client_digest', '=', clientDigest)
    .execute()
  return false
}
