import type { Database, Tx } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'

/** Sets a password. Returns false if it has changed since the account was read. */
export const setPassword = async (
  tx: Tx,
  { portal, id, passwordHash }: { portal: Portal; id: AccountId; passwordHash: string | null },
  hash: string,
  at: Instant,
): Promise<boolean> => {
  const set = await tx
    .updateTable('accounts')
    .set({ password_hash: hash, password_changed_at: toDate(at), updated_at: toDate(at) })
    .where('portal', '=', portal)
    .where('biz_id', '=', id)
    .where('password_hash', 'is not distinct from', passwordHash)
    .returning('biz_id')
    .executeTakeFirst()
  return set !== undefined
}

/** Replaces the hash of an unchanged password, if it is still the one that was read. */
export const replaceHash = async (
  database: Database,
  portal: Portal,
  id: AccountId,
  from: string,
  to: string,
): Promise<void> => {
  await database
    .updateTable('accounts')
    .set({ password_hash: to })
    .where('portal', '=', portal)
    .where('biz_id', '=', id)
    .where('password_hash', '=', from)
    .execute()
}
