import { batch, inTransaction, run, type Statements, type Tx, together } from '../../database/index.ts'
import { type Instant, Refusal, type RequestContext } from '../../kernel/index.ts'
import { recordRefusal, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import type { Account } from '../accounts/store.ts'
import { spendPresentedCode } from '../codes/service.ts'
import type { CodeOwner } from '../codes/store.ts'
import type { Lockout } from '../lockout/service.ts'
import { queueNotice } from '../notices/service.ts'
import type { IdentityPorts } from '../ports.ts'
import type { OwnSession } from '../sessions/rules.ts'
import type { IdentitySettings } from '../settings.ts'
import { backupCodeCandidates } from './backup-codes.ts'
import type { PresentedFactor, StrongFactor } from './presented.ts'
import { allowsMailCodes } from './rules.ts'
import { type OtpFactor, otpLocked, otpOf, spendBackupCode, spendTimeStep } from './store.ts'
import { openSecret, timeStepOf } from './totp.ts'

interface VerifyPorts extends Pick<IdentityPorts, 'database' | 'clock'> {
  lockout: Lockout
}

interface FactorPorts extends IdentityPorts {
  settings: IdentitySettings
}

type AccountKey = Pick<Account, 'portal' | 'id'>

/** The account whose factor is verified. */
export interface FactorOwner extends AccountKey {
  /** Identifies the code that was emailed to the account. */
  code: CodeOwner
}

/**
 * The first statements of a verification. Their result is the rest of it, which spends the code and returns false for a
 * wrong one.
 */
export type Verification<Rest = (tx: Tx) => Promise<boolean>> = Statements<Rest>

/** Throws AUTH.MFA_METHOD_NOT_ALLOWED. */
export function assertMailAllowed(settings: IdentitySettings, account: Account, otp: OtpFactor | undefined): void {
  if (!allowsMailCodes(settings, account, Boolean(otp?.secret)))
    throw new Refusal('AUTH.MFA_METHOD_NOT_ALLOWED', { internal: 'the account cannot use mailed codes' })
}

/** Verifies a code of an authenticator or a backup code, like `factorOf`. */
export async function verifyStrongFactor(
  ports: IdentityPorts,
  tx: Tx,
  account: AccountKey,
  factor: StrongFactor,
  context: RequestContext,
  now: Instant,
): Promise<boolean> {
  const finish = await run(tx, strongFactor(ports, account, factor, context, now))
  return finish(tx)
}

/** The caller must count a wrong code. The rest throws AUTH.MFA_METHOD_NOT_ALLOWED; the caller must then roll back. */
export function factorOf(
  ports: FactorPorts,
  owner: FactorOwner,
  factor: PresentedFactor,
  context: RequestContext,
  now: Instant,
): Verification<(tx: Tx, account: Account) => Promise<boolean>> {
  if (factor.method !== 'EMAIL') return strongFactor(ports, owner, factor, context, now)
  const { portal, id } = owner
  const statements = together([otpOf(portal, id), spendPresentedCode(ports.digest, owner.code, factor.code, now)])
  return statements.map(([otp, isSpent]) => async (_, account) => {
    assertMailAllowed(ports.settings, account, otp)
    return isSpent
  })
}

/**
 * `verify` runs in a transaction and returns undefined for a wrong code. Tries are counted in advance, per account and
 * apart from sign-ins, so that a stolen token allows neither unlimited guesses nor locking the owner out. Each session
 * has half of the tries. Throws AUTH.CODE_INVALID or ACCESS.RATE_LIMITED.
 */
export async function verifyCode<T>(
  { database, clock, lockout }: VerifyPorts,
  session: OwnSession,
  context: RequestContext,
  verify: (tx: Tx) => Promise<T | undefined>,
): Promise<T> {
  const subject = lockout.factorSubject(session.portal, session.accountId)
  const ofSession = lockout.sessionSubject(session.portal, session.sessionId)
  const verifyInTransaction = () =>
    inTransaction(database, async (tx) => {
      const result = await verify(tx)
      if (result === undefined) throw new Refusal('AUTH.CODE_INVALID')
      await batch(tx, [lockout.clear(subject), lockout.clear(ofSession)])
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

function strongFactor(
  ports: IdentityPorts,
  account: AccountKey,
  factor: StrongFactor,
  context: RequestContext,
  now: Instant,
): Verification {
  if (factor.method === 'PASSKEY') throw new Refusal('AUTH.PASSKEY_INVALID', { internal: 'not implemented' })
  const { method, code } = factor
  return method === 'OTP' ? totp(ports, account, code, now) : backupCode(ports, account, code, context, now)
}

function totp({ secretBox }: IdentityPorts, { portal, id }: AccountKey, code: string, now: Instant): Verification {
  return otpLocked(portal, id).map((otp) => async (tx) => {
    if (!otp?.secret) return false
    const step = timeStepOf(openSecret(secretBox, portal, id, otp.secret), code, now)
    return step !== undefined && spendTimeStep(tx, portal, id, otp.secret, step)
  })
}

function backupCode(
  { digest, ids }: IdentityPorts,
  { portal, id }: AccountKey,
  code: string,
  context: RequestContext,
  now: Instant,
): Verification {
  return spendBackupCode(portal, id, backupCodeCandidates(digest, portal, id, code), now).map(
    (isSpent) => async (tx) => {
      if (isSpent) await queueNotice(tx, ids, { portal, id }, 'BACKUP_CODE_USED', context, now)
      return isSpent
    },
  )
}
