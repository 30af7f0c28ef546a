import { sql } from 'kysely'
import { type Database, type Param, statement, type Tx } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'

export interface BackupCodeCounts {
  remainingCount: number
  totalGenerated: number
  /** Null if there are none. */
  generatedAt: Instant | null
}

const countCodes = statement((store, given: Param<{ portal: Portal; accountId: AccountId }>) =>
  store
    .selectFrom('backup_codes')
    .select((row) => [
      row.fn.countAll<number>().as('totalGenerated'),
      sql<number>`count(*) FILTER (WHERE used_at IS NULL)`.as('remainingCount'),
      sql<Instant | null>`max(generated_at)`.as('generatedAt'),
    ])
    .where('portal', '=', given('portal'))
    .where('account_biz_id', '=', given('accountId')),
)

const none: BackupCodeCounts = { remainingCount: 0, totalGenerated: 0, generatedAt: null }

export const readBackupCodeCounts = async (
  store: Database | Tx,
  portal: Portal,
  accountId: AccountId,
): Promise<BackupCodeCounts> => (await countCodes.first(store, { portal, accountId })) ?? none

/** Replaces the account's set of codes. The caller must have locked the account's row. */
export const replaceBackupCodes = async (
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  digests: Uint8Array[],
  at: Instant,
): Promise<void> => {
  await tx.deleteFrom('backup_codes').where('portal', '=', portal).where('account_biz_id', '=', accountId).execute()
  const rows = digests.map((code_digest) => ({
    account_biz_id: accountId,
    code_digest,
    portal,
    generated_at: toDate(at),
    used_at: null,
  }))
  await tx.insertInto('backup_codes').values(rows).execute()
}

/** Spends a code. Returns false if it is wrong or used. */
export const spendBackupCode = async (
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  digest: Uint8Array,
  at: Instant,
): Promise<boolean> => {
  const spent = await tx
    .updateTable('backup_codes')
    .set({ used_at: toDate(at) })
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .where('code_digest', '=', digest)
    .where('used_at', 'is', null)
    .returning('account_biz_id')
    .executeTakeFirst()
  return spent !== undefined
}
