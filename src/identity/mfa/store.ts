import { sql } from 'kysely'
import { type Database, type Param, statement, type Tx } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'

/** An account's authenticator. The secrets are encrypted. */
export interface OtpFactor {
  /** The active secret. Null until the first one is verified. */
  secret: Uint8Array | null
  verifiedAt: Instant | null
  /** A secret that is not verified yet. */
  pendingSecret: Uint8Array | null
  pendingAt: Instant | null
}

const findFactor = statement((store, param: Param<{ portal: Portal; accountId: AccountId }>) =>
  store
    .selectFrom('otp_factors')
    .select(['secret', 'verified_at as verifiedAt', 'pending_secret as pendingSecret', 'pending_at as pendingAt'])
    .where('portal', '=', param('portal'))
    .where('account_biz_id', '=', param('accountId')),
)

/** Returns an account's authenticator; undefined if none was set up. */
export const readOtp = (store: Database | Tx, portal: Portal, accountId: AccountId): Promise<OtpFactor | undefined> =>
  findFactor.first(store, { portal, accountId })

/** Stores a pending secret. The active secret stays valid. */
export const putPendingSecret = async (
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  sealed: Uint8Array,
  at: Instant,
): Promise<void> => {
  const pending = { pending_secret: sealed, pending_at: toDate(at) }
  await tx
    .insertInto('otp_factors')
    .values({ portal, account_biz_id: accountId, secret: null, ...pending })
    .onConflict((conflict) => conflict.column('account_biz_id').doUpdateSet(pending))
    .execute()
}

/** Activates a pending secret. Returns false if it was replaced concurrently. */
export const activatePendingSecret = async (
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  sealed: Uint8Array,
  step: number,
  at: Instant,
): Promise<boolean> => {
  const activated = await tx
    .updateTable('otp_factors')
    .set({ secret: sealed, verified_at: toDate(at), last_used_step: step, pending_secret: null, pending_at: null })
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .where('pending_secret', '=', sealed)
    .returning('account_biz_id')
    .executeTakeFirst()
  return activated !== undefined
}

/** Marks a time step as used. Returns false if it or a later one was used before. */
export const spendTimeStep = async (
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  sealed: Uint8Array,
  step: number,
): Promise<boolean> => {
  const spent = await tx
    .updateTable('otp_factors')
    .set({ last_used_step: step })
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .where('secret', '=', sealed)
    .where('last_used_step', '<', step)
    .returning('account_biz_id')
    .executeTakeFirst()
  return spent !== undefined
}

/** Removes the authenticator. Returns whether one was active. */
export const removeOtp = async (tx: Tx, portal: Portal, accountId: AccountId): Promise<boolean> => {
  const removed = await tx
    .deleteFrom('otp_factors')
    .where('portal', '=', portal)
    .where('account_biz_id', '=', accountId)
    .where('secret', 'is not', null)
    .returning('account_biz_id')
    .executeTakeFirst()
  return removed !== undefined
}

/** The current set of backup codes of an account. */
export interface BackupCodeCounts {
  remainingCount: number
  totalGenerated: number
  /** Null if there is no set of codes. */
  generatedAt: Instant | null
}

const countCodes = statement((store, param: Param<{ portal: Portal; accountId: AccountId }>) =>
  store
    .selectFrom('backup_codes')
    .select((row) => [
      row.fn.countAll<number>().as('totalGenerated'),
      sql<number>`count(*) FILTER (WHERE used_at IS NULL)`.as('remainingCount'),
      sql<Instant | null>`max(generated_at)`.as('generatedAt'),
    ])
    .where('portal', '=', param('portal'))
    .where('account_biz_id', '=', param('accountId')),
)

const none: BackupCodeCounts = { remainingCount: 0, totalGenerated: 0, generatedAt: null }

/** Returns how many backup codes an account has. */
export const readBackupCodeCounts = async (
  store: Database | Tx,
  portal: Portal,
  accountId: AccountId,
): Promise<BackupCodeCounts> => (await countCodes.first(store, { portal, accountId })) ?? none

/** Replaces an account's set of codes. The caller must have locked the account's row. */
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

/** Marks a code as used. Returns false if it is wrong or already used. */
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
