import { allInOrder, inTransaction, type Tx } from '../../database/index.ts'
import { type Instant, Refusal, type RequestContext } from '../../kernel/index.ts'
import { recordRefusal, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { spendOneOf } from '../../platform/crypto/index.ts'
import type { Account } from '../accounts/store.ts'
import { spendPresentedCode } from '../codes/service.ts'
import type { CodeOwner } from '../codes/store.ts'
import type { Lockout } from '../lockout/service.ts'
import { queueNotice } from '../notices/service.ts'
import type { IdentityPorts } from '../ports.ts'
import type { OwnSession } from '../sessions/rules.ts'
import type { IdentitySettings } from '../settings.ts'
import { backupCodeCandidates } from './backup-codes.ts'
import type { MfaMethod } from './contract.ts'
import { allowsMailCodes } from './rules.ts'
import { lockOtp, type OtpFactor, readOtp, spendBackupCode, spendTimeStep } from './store.ts'
import { openSecret, timeStepOf } from './totp.ts'

interface VerifyPorts extends Pick<IdentityPorts, 'database' | 'clock'> {
  lockout: Lockout
}

interface FactorPorts extends IdentityPorts {
  settings: IdentitySettings
}

export interface PresentedFactor {
  method: MfaMethod
  code: string
}

type AccountKey = Pick<Account, 'portal' | 'id'>

/** The account whose factor is verified. */
export interface FactorOwner extends AccountKey {
  /** May still be loading in the same transaction. */
  account: Account | Promise<Account>
  /** Identifies the code that was emailed to the account. */
  code: CodeOwner
}

/** Does not depend on the mailbox. */
export interface StrongFactor extends PresentedFactor {
  method: Exclude<MfaMethod, 'EMAIL'>
}

const verifyTotp = async (
  { secretBox }: IdentityPorts,
  tx: Tx,
  { portal, id: accountId }: AccountKey,
  code: string,
  now: Instant,
): Promise<boolean> => {
  const otp = await lockOtp(tx, portal, accountId)
  if (!otp?.secret) return false
  const step = timeStepOf(openSecret(secretBox, portal, accountId, otp.secret), code, now)
  return step !== undefined && spendTimeStep(tx, portal, accountId, otp.secret, step)
}

const verifyBackupCode = async (
  { digest, ids }: IdentityPorts,
  tx: Tx,
  { portal, id: accountId }: AccountKey,
  code: string,
  context: RequestContext,
  now: Instant,
): Promise<boolean> => {
  const candidates = backupCodeCandidates(digest, portal, accountId, code)
  if (!(await spendOneOf(candidates, (each) => spendBackupCode(tx, portal, accountId, each, now)))) return false
  await queueNotice(tx, ids, { portal, id: accountId }, 'BACKUP_CODE_USED', context, now)
  return true
}

/** Throws AUTH.MFA_METHOD_NOT_ALLOWED. */
export const assertMailAllowed = (settings: IdentitySettings, account: Account, otp: OtpFactor | undefined): void => {
  if (!allowsMailCodes(settings, account, Boolean(otp?.secret)))
    throw new Refusal('AUTH.MFA_METHOD_NOT_ALLOWED', { internal: 'the account cannot use mailed codes' })
}

/** Verifies a code of an authenticator or a backup code, like `verifyFactor`. */
export const verifyStrongFactor = (
  ports: IdentityPorts,
  tx: Tx,
  account: AccountKey,
  { method, code }: StrongFactor,
  context: RequestContext,
  now: Instant,
): Promise<boolean> =>
  method === 'OTP'
    ? verifyTotp(ports, tx, account, code, now)
    : verifyBackupCode(ports, tx, account, code, context, now)

/**
 * Spends the code. Returns false for a wrong code, which the caller must count. Throws AUTH.MFA_METHOD_NOT_ALLOWED; the
 * caller must then roll back. Starts its first statements immediately.
 */
export const verifyFactor = async (
  ports: FactorPorts,
  tx: Tx,
  owner: FactorOwner,
  { method, code }: PresentedFactor,
  context: RequestContext,
  now: Instant,
): Promise<boolean> => {
  if (method !== 'EMAIL') return verifyStrongFactor(ports, tx, owner, { method, code }, context, now)
  const [otp, isSpent, account] = await allInOrder([
    readOtp(tx, owner.portal, owner.id),
    spendPresentedCode(tx, ports.digest, owner.code, code, now),
    Promise.resolve(owner.account),
  ])
  assertMailAllowed(ports.settings, account, otp)
  return isSpent
}

/**
 * `verify` runs in a transaction and returns undefined for a wrong code. Tries are counted in advance, per account and
 * apart from sign-ins, so that a stolen token allows neither unlimited guesses nor locking the owner out. Each session
 * has half of the tries. Throws AUTH.CODE_INVALID or ACCESS.RATE_LIMITED.
 */
export const verifyCode = async <T>(
  { database, clock, lockout }: VerifyPorts,
  session: OwnSession,
  context: RequestContext,
  verify: (tx: Tx) => Promise<T | undefined>,
): Promise<T> => {
  const subject = lockout.factorSubject(session.portal, session.accountId)
  const ofSession = lockout.sessionSubject(session.portal, session.sessionId)
  const verifyInTransaction = () =>
    inTransaction(database, async (tx) => {
      const result = await verify(tx)
      if (result === undefined) throw new Refusal('AUTH.CODE_INVALID')
      await lockout.clear(tx, subject)
      await lockout.clear(tx, ofSession)
      return result
    })
  try {
    // The session first: its refused tries do not count for the account.
    return await lockout
      .ofSession()
      .countIfRefused(ofSession, 'AUTH.CODE_INVALID', () =>
        lockout.countIfRefused(subject, 'AUTH.CODE_INVALID', verifyInTransaction),
      )
  } catch (error) {
    if (error instanceof Refusal && error.code === 'AUTH.CODE_INVALID') {
      const event = { workspaceId: null, targetId: session.sessionId, detail: { reason: 'CODE_INVALID' } }
      await recordRefusal(database, unauthenticatedAuditContext(session.accountId, context, clock.now()), event)
    }
    throw error
  }
}
