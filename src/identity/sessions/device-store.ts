import { sql } from 'kysely'
import type { Tx } from '../../database/index.ts'
import { type AccountId, type Instant, toDate } from '../../kernel/index.ts'

/** Remembers the client that an account signs in with; whether it is the first time. */
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
    // Nobody has deleted or locked the version of the row that an INSERT has made.
    .returning(sql<boolean>`xmax = 0`.as('isNew'))
    .executeTakeFirstOrThrow()
  return isNew
}
