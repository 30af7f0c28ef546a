import { inTransaction, type Tx } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, Refusal, type RequestContext } from '../../kernel/index.ts'
import { recordRefusal, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { codeDigest } from '../codes/service.ts'
import { type CodeOwner, spendCode } from '../codes/store.ts'
import type { Lockout } from '../lockout/service.ts'
import { queueNotice } from '../notices/service.ts'
import type { IdentityPorts } from '../ports.ts'
import type { OwnSession } from '../sessions/rules.ts'
import { backupCodeDigest } from './backup-codes.ts'
import type { MfaMethod } from './contract.ts'
import { readOtp, spendBackupCode, spendTimeStep } from './store.ts'
import { openSecret, timeStepOf } from './totp.ts'

interface VerifyPorts extends Pick<IdentityPorts, 'database' | 'clock'> {
  lockout: Lockout
}

/** A second factor that a client presents. */
export interface PresentedFactor {
  method: MfaMethod
  code: string
}

/** The account that owns the factor, and the owner of a mailed code. */
export interface FactorOwner {
  portal: Portal
  accountId: AccountId
  code: CodeOwner
}

const verifyTotp = async (
  { secretBox }: IdentityPorts,
  tx: Tx,
  { portal, accountId }: FactorOwner,
  code: string,
  now: Instant,
): Promise<boolean> => {
  const otp = await readOtp(tx, portal, accountId)
  if (!otp?.secret) return false
  const step = timeStepOf(openSecret(secretBox, portal, accountId, otp.secret), code, now)
  return step !== undefined && spendTimeStep(tx, portal, accountId, otp.secret, step)
}

const verifyBackupCode = async (
  { digest, ids }: IdentityPorts,
  tx: Tx,
  { portal, accountId }: FactorOwner,
  code: string,
  context: RequestContext,
  now: Instant,
): Promise<boolean> => {
  const codeHash = backupCodeDigest(digest, portal, accountId, code)
  if (!(await spendBackupCode(tx, portal, accountId, codeHash, now))) return false
  await queueNotice(tx, ids, { portal, id: accountId }, 'BACKUP_CODE_USED', context, now)
  return true
}

/**
 * Verifies a second factor and marks it as used, so that it works once. Returns false if it is wrong. The caller counts
 * failures.
 */
export const verifyFactor = (
  ports: IdentityPorts,
  tx: Tx,
  owner: FactorOwner,
  { method, code }: PresentedFactor,
  context: RequestContext,
  now: Instant,
): Promise<boolean> => {
  if (method === 'OTP') return verifyTotp(ports, tx, owner, code, now)
  if (method === 'BACKUP_CODE') return verifyBackupCode(ports, tx, owner, code, context, now)
  return spendCode(tx, owner.code, codeDigest(ports.digest, owner.code, code), now)
}

/**
 * Verifies a code of a signed-in session in a transaction. `verify` returns undefined for a wrong code. Each try is
 * counted in advance, per account and separately from sign-ins. A stolen token therefore allows neither unlimited
 * guesses nor locking the owner out. Throws AUTH.CODE_INVALID or ACCESS.RATE_LIMITED.
 */
export const verifyCode = async <T>(
  { database, clock, lockout }: VerifyPorts,
  session: OwnSession,
  context: RequestContext,
  verify: (tx: Tx) => Promise<T | undefined>,
): Promise<T> => {
  const subject = lockout.factorSubject(session.portal, session.accountId)
  try {
    return await lockout.countIfRefused(subject, 'AUTH.CODE_INVALID', () =>
      inTransaction(database, async (tx) => {
        const result = await verify(tx)
        if (result === undefined) throw new Refusal('AUTH.CODE_INVALID')
        await lockout.clear(tx, subject)
        return result
      }),
    )
  } catch (error) {
    if (error instanceof Refusal && error.code === 'AUTH.CODE_INVALID') {
      const event = { workspaceId: null, targetId: session.sessionId, detail: { reason: 'CODE_INVALID' } }
      await recordRefusal(database, unauthenticatedAuditContext(session.accountId, context, clock.now()), event)
    }
    throw error
  }
}
