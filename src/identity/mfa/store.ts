import { type RawBuilder, sql } from 'kysely'
import {
  type Database,
  type Param,
  query,
  run,
  type Statements,
  statement,
  type Tx,
  timestamptz,
  type Validity,
} from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'
import { accountIdOfAttempt } from '../accounts/store.ts'
import type { OwnSession } from '../sessions/rules.ts'
import { deletePasskeys } from '../webauthn/store.ts'

const otpCountedFrom = countedFrom(sql.ref('issuedAt'), sql.ref('verifiedAt'))
const codesCountedFrom = countedFrom(sql`max(issued_at)`, sql`max(generated_at)`)

/** The secrets are encrypted. */
export interface OtpFactor {
  secret: Uint8Array | null
  verifiedAt: Instant | null
  /** Its age counts from here. */
  countedFrom: Instant | null
  pendingSecret: Uint8Array | null
  pendingAt: Instant | null
}

const findFactor = statement(factorOf)
const lockFactor = statement((store, param: Param<{ portal: Portal; accountId: AccountId }>) =>
  factorOf(store, param).forUpdate(),
)

export function otpOf(portal: Portal, accountId: AccountId): Statements<OtpFactor | undefined> {
  return findFactor.with({ portal, accountId }).first()
}

export function readOtp(store: Database | Tx, portal: Portal, accountId: AccountId): Promise<OtpFactor | undefined> {
  return run(store, otpOf(portal, accountId))
}

const findFactorByAttempt = statement((store, param: Param<{ portal: Portal; digest: Uint8Array }>) =>
  selectFactor(store, param('portal'), accountIdOfAttempt(param('portal'), param('digest'))),
)

/** The authenticator of the account that is signing in. */
export function otpOfAttempt(portal: Portal, digest: Uint8Array): Statements<OtpFactor | undefined> {
  return findFactorByAttempt.with({ portal, digest }).first()
}

/** Locks the row, so that its sealed values do not change until the transaction ends. */
export function otpLocked(portal: Portal, accountId: AccountId): Statements<OtpFactor | undefined> {
  return lockFactor.with({ portal, accountId }).first()
}

export function lockOtp(tx: Tx, portal: Portal, accountId: AccountId): Promise<OtpFactor | undefined> {
  return run(tx, otpLocked(portal, accountId))
}

/** The active secret stays valid. */
export async function putPendingSecret(
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  sealed: Uint8Array,
  at: Instant,
): Promise<void> {
  const pending = { pendingSecret: sealed, pendingAt: toDate(at) }
  await tx
    .insertInto('otp_factors')
    .values({ portal, accountBizId: accountId, secret: null, ...pending })
    .onConflict((conflict) => conflict.column('accountBizId').doUpdateSet(pending))
    .execute()
}

/** The account must not have an authenticator. */
export async function insertIssuedSecret(
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  sealed: Uint8Array,
  at: Instant,
): Promise<void> {
  await tx
    .insertInto('otp_factors')
    .values({
      portal,
      accountBizId: accountId,
      secret: sealed,
      verifiedAt: toDate(at),
      issuedAt: toDate(at),
      pendingSecret: null,
      pendingAt: null,
    })
    .execute()
}

/** Returns false if a concurrent request has replaced the secret. */
export async function activatePendingSecret(
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  sealed: Uint8Array,
  step: number,
  at: Instant,
): Promise<boolean> {
  const activated = await tx
    .updateTable('otp_factors')
    .set({ secret: sealed, verifiedAt: toDate(at), lastUsedStep: step, pendingSecret: null, pendingAt: null })
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('pendingSecret', '=', sealed)
    .returning('accountBizId')
    .executeTakeFirst()
  return activated !== undefined
}

/** Returns false if this or a later step was used before. */
export async function spendTimeStep(
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  sealed: Uint8Array,
  step: number,
): Promise<boolean> {
  const spent = await tx
    .updateTable('otp_factors')
    .set({ lastUsedStep: step })
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('secret', '=', sealed)
    .where('lastUsedStep', '<', step)
    .returning('accountBizId')
    .executeTakeFirst()
  return spent !== undefined
}

/** The account must have an authenticator. */
export async function replaceSecret(
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  sealed: Uint8Array,
  at: Instant,
): Promise<void> {
  await tx
    .updateTable('otp_factors')
    .set({ secret: sealed, verifiedAt: toDate(at), pendingSecret: null, pendingAt: null })
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('secret', 'is not', null)
    .execute()
}

export async function removeOtp(tx: Tx, portal: Portal, accountId: AccountId): Promise<boolean> {
  const removed = await tx
    .deleteFrom('otp_factors')
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('secret', 'is not', null)
    .returning('accountBizId')
    .executeTakeFirst()
  return removed !== undefined
}

export interface BackupCodeCounts {
  remainingCount: number
  totalGenerated: number
  generatedAt: Instant | null
  /** Their age counts from here. */
  countedFrom: Instant | null
}

const countCodes = statement((store, param: Param<{ portal: Portal; accountId: AccountId }>) =>
  store
    .selectFrom('backup_codes')
    .select((row) => [
      row.fn.countAll<number>().as('totalGenerated'),
      sql<number>`count(*) FILTER (WHERE used_at IS NULL)`.as('remainingCount'),
      sql<Instant | null>`max(generated_at)`.as('generatedAt'),
      codesCountedFrom.as('countedFrom'),
    ])
    .where('portal', '=', param('portal'))
    .where('accountBizId', '=', param('accountId')),
)

export function backupCodeCounts(portal: Portal, accountId: AccountId): Statements<BackupCodeCounts> {
  return countCodes.with({ portal, accountId }).only()
}

export function readBackupCodeCounts(
  store: Database | Tx,
  portal: Portal,
  accountId: AccountId,
): Promise<BackupCodeCounts> {
  return run(store, backupCodeCounts(portal, accountId))
}

/** The caller must have locked the account's row. */
export async function replaceBackupCodes(
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  digests: Uint8Array[],
  { at, isIssued }: { at: Instant; isIssued: boolean },
): Promise<void> {
  await removeBackupCodes(tx, portal, accountId)
  const rows = digests.map((codeDigest) => ({
    accountBizId: accountId,
    codeDigest,
    portal,
    generatedAt: toDate(at),
    issuedAt: isIssued ? toDate(at) : null,
    usedAt: null,
  }))
  await tx.insertInto('backup_codes').values(rows).execute()
}

/** Returns false if the code is wrong or already used. */
export function spendBackupCode(
  portal: Portal,
  accountId: AccountId,
  candidates: readonly Uint8Array[],
  at: Instant,
): Statements<boolean> {
  const spent = query((store) =>
    store
      .updateTable('backup_codes')
      .set({ usedAt: toDate(at) })
      .where('portal', '=', portal)
      .where('accountBizId', '=', accountId)
      .where('codeDigest', 'in', candidates)
      .where('usedAt', 'is', null)
      .returning('accountBizId'),
  )
  return spent.hasRow()
}

export async function readUsedTimeStep(tx: Tx, portal: Portal, accountId: AccountId): Promise<number> {
  const factor = await tx
    .selectFrom('otp_factors')
    .select('lastUsedStep as step')
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .executeTakeFirst()
  return factor?.step ?? 0
}

/** Call before the codes are replaced. Keeps nothing if no code was used. */
export async function keepUsedBackupCodes(tx: Tx, portal: Portal, accountId: AccountId, at: Instant): Promise<void> {
  await sql`
    INSERT INTO former_factors (account_biz_id, portal, method, enrolled_at, ended_at, last_used_at)
    SELECT account_biz_id, portal, 'BACKUP_CODE', ${codesCountedFrom}, ${timestamptz(at)}, max(used_at) FROM backup_codes
     WHERE portal = ${portal} AND account_biz_id = ${accountId} AND used_at IS NOT NULL
     GROUP BY account_biz_id, portal`.execute(tx)
}

/** Whether a backup code, a passkey, or a factor that was replaced or removed, was used after `since` and counted by `countedBy`. */
export async function isOldFactorUsedSince(
  tx: Tx,
  portal: Portal,
  accountId: AccountId,
  { since, countedBy }: { since: Instant; countedBy: Instant },
): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM (
      SELECT ${codesCountedFrom} AS counted_from, max(used_at) AS used_at FROM backup_codes
       WHERE portal = ${portal} AND account_biz_id = ${accountId}
      UNION ALL
      SELECT created_at, last_used_at FROM passkeys WHERE portal = ${portal} AND account_biz_id = ${accountId}
      UNION ALL
      SELECT enrolled_at, last_used_at FROM former_factors WHERE portal = ${portal} AND account_biz_id = ${accountId}
    ) AS factors
    WHERE counted_from <= ${timestamptz(countedBy)} AND used_at > ${timestamptz(since)} LIMIT 1`.execute(tx)
  return rows.length > 0
}

export async function removeBackupCodes(tx: Tx, portal: Portal, accountId: AccountId): Promise<void> {
  await tx.deleteFrom('backup_codes').where('portal', '=', portal).where('accountBizId', '=', accountId).execute()
}

export async function removeFactors(tx: Tx, portal: Portal, accountId: AccountId): Promise<void> {
  await tx.deleteFrom('otp_factors').where('portal', '=', portal).where('accountBizId', '=', accountId).execute()
  await removeBackupCodes(tx, portal, accountId)
  await deletePasskeys(tx, { portal, id: accountId })
}

export type ShownKind = 'OTP' | 'BACKUP_CODE'

/** Returns undefined if another session has seen the account's latest secret of the kind. */
export function readShownSecret(tx: Tx, { portal, accountId, sessionId }: OwnSession, kind: ShownKind) {
  return tx
    .selectFrom('shown_secrets')
    .select(['secret', 'shownAt', 'expiresAt'])
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
    .where('kind', '=', kind)
    .where('sessionBizId', '=', sessionId)
    .executeTakeFirst()
}

export async function putShownSecret(
  tx: Tx,
  { portal, accountId: accountBizId, sessionId: sessionBizId }: OwnSession,
  kind: ShownKind,
  secret: Uint8Array,
  { from, until }: Validity,
): Promise<void> {
  const shown = { sessionBizId, secret, shownAt: toDate(from), expiresAt: toDate(until) }
  await tx
    .insertInto('shown_secrets')
    .values({ portal, accountBizId, kind, ...shown })
    .onConflict((conflict) => conflict.columns(['accountBizId', 'kind']).doUpdateSet(shown))
    .execute()
}

/** A thief cannot have issued a factor, so that it is old from the beginning. */
function countedFrom(issuedAt: RawBuilder<unknown>, enrolledAt: RawBuilder<unknown>): RawBuilder<Instant | null> {
  return sql`CASE WHEN ${issuedAt} = ${enrolledAt} THEN to_timestamp(0) ELSE ${enrolledAt} END`
}

function factorOf(store: Database | Tx, param: Param<{ portal: Portal; accountId: AccountId }>) {
  return selectFactor(store, param('portal'), param('accountId'))
}

function selectFactor(store: Database | Tx, portal: RawBuilder<Portal>, accountId: RawBuilder<AccountId>) {
  return store
    .selectFrom('otp_factors')
    .select(['secret', 'verifiedAt', 'pendingSecret', 'pendingAt'])
    .select(otpCountedFrom.as('countedFrom'))
    .where('portal', '=', portal)
    .where('accountBizId', '=', accountId)
}
