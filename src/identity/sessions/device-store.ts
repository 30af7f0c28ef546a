import { sql } from 'kysely'
import type { Tx } from '../../database/index.ts'
import { type AccountId, type Instant, toDate } from '../../kernel/index.ts'

/** Stores the client that an account signs in with. Returns whether it is new. */
export const rememberDevice = async (
  tx: Tx,
  accountId: AccountId,
  clientDigest: Uint8Array,
  at: Instant,
): Promise<boolean> => {
  const { isNew } = await tx
    .insertInto('known_devices')
    .values({
      account_biz_id: accountId,
      client_digest: clientDigest,
      first_seen_at: toDate(at),
      last_seen_at: toDate(at),
    })
    .onConflict((conflict) =>
      conflict.columns(['account_biz_id', 'client_digest']).doUpdateSet({ last_seen_at: toDate(at) }),
    )
    // PostgreSQL leaves xmax at 0 for a row that was inserted, and sets it for one that was updated.
    .returning(sql<boolean>`xmax = 0`.as('isNew'))
    .executeTakeFirstOrThrow()
  return isNew
}
