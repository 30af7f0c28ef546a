import { batch, inTransaction, run, type Statements, type Tx, together } from '../../database/index.ts'
import { type Code, type Instant, Refusal, type RequestContext } from '../../kernel/index.ts'
import { recordRefusal, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import type { Account } from '../accounts/store.ts'
import { spendPresentedCode } from '../codes/service.ts'
import type { CodeOwner } from '../codes/store.ts'
import type { Lockout } from '../lockout/service.ts'
import { queueNotice } from '../notices/service.ts'
import type { IdentityPorts } from '../ports.ts'
import type { OwnSession } from '../sessions/rules.ts'
import type { SessionPorts } from '../sessions/service.ts'
import type { IdentitySettings } from '../settings.ts'
import type { ChallengeBinding } from '../webauthn/challenge-store.ts'
import { signInBinding } from '../webauthn/challenges.ts'
import { suspendingCopies } from '../webauthn/copies.ts'
import { passkeyFactor } from '../webauthn/factor.ts'
import { passkeysOf, whereOffered } from '../webauthn/store.ts'
import { backupCodeCandidates } from './backup-codes.ts'
import type { PresentedFactor, StrongFactor } from './presented.ts'
import { allowsMailCodes, type StrongFactors } from './rules.ts'
import { otpLocked, otpOf, spendBackupCode, spendTimeStep } from './store.ts'
import { openSecret, timeStepOf } from './totp.ts'

interface VerifyPorts extends Pick<SessionPorts, 'database' | 'clock' | 'ids' | 'sessionCache'> {
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
  /** The context of a passkey's challenge. */
  challenge: ChallengeBinding
}

/** Evidence of a verified factor, for the audit log. */
export type FactorProof = Readonly<Record<string, string>>

/**
 * The first statements of a verification. Their result is the rest of it, which spends the code and returns undefined for
 * a wrong one. It throws AUTH.PASSKEY_INVALID for a passkey.
 */
export type Verification<Rest = (tx: Tx) => Promise<FactorProof | undefined>> = Statements<Rest>

/** The refusals of a wrong factor, which count as failures. */
export const wrongFactor: ReadonlySet<Code> = new Set<Code>(['AUTH.CODE_INVALID', 'AUTH.PASSKEY_INVALID'])

/** For the audit log and the login history. */
export function failureOf({ code }: Refusal): 'CODE_INVALID' | 'PASSKEY_INVALID' {
  return code === 'AUTH.PASSKEY_INVALID' ? 'PASSKEY_INVALID' : 'CODE_INVALID'
}

export function isWrongFactor(error: unknown): error is Refusal {
  return error instanceof Refusal && wrongFactor.has(error.code)
}

/** Throws AUTH.MFA_METHOD_NOT_ALLOWED. */
export function assertMailAllowed(settings: IdentitySettings, account: Account, factors: StrongFactors): void {
  if (!allowsMailCodes(settings, account, factors))
    throw new Refusal('AUTH.MFA_METHOD_NOT_ALLOWED', { internal: 'the account cannot use mailed codes' })
}

/** Verifies a factor that does not depend on the mailbox, like `factorOf`. */
export async function verifyStrongFactor(
  ports: FactorPorts,
  tx: Tx,
  account: AccountKey,
  factor: StrongFactor,
  context: RequestContext,
  now: Instant,
): Promise<boolean> {
  const owner = { ...account, challenge: signInBinding(account.portal, null) }
  const finish = await run(tx, strongFactor(ports, owner, factor, context, now))
  return (await finish(tx)) !== undefined
}

/**
 * The caller must count a wrong factor, and suspend a copied passkey. The rest throws AUTH.MFA_METHOD_NOT_ALLOWED; the
 * caller must then roll back.
 */
export function factorOf(
  ports: FactorPorts,
  owner: FactorOwner,
  factor: PresentedFactor,
  context: RequestContext,
  now: Instant,
): Verification<(tx: Tx, account: Account) => Promise<FactorProof | undefined>> {
  if (factor.method !== 'EMAIL') return strongFactor(ports, owner, factor, context, now)
  const { portal, id } = owner
  const code = spendPresentedCode(ports.digest, owner.code, factor.code, now)
  const passkeys = whereOffered(ports.settings, portal, passkeysOf({ portal, id }))
  const statements = together([otpOf(portal, id), passkeys, code])
  return statements.map(([otp, stored, isSpent]) => async (_, account) => {
    assertMailAllowed(ports.settings, account, { otp, passkeys: stored })
    return isSpent ? { method: factor.method } : undefined
  })
}

/**
 * `verify` runs in a transaction and returns undefined for a wrong code. Tries are counted in advance, per account and
 * apart from sign-ins, so that a stolen token allows neither unlimited guesses nor locking the owner out. Each session
 * has half of the tries. Throws AUTH.CODE_INVALID or ACCESS.RATE_LIMITED.
 */
export async function verifyCode<T>(
  ports: VerifyPorts,
  session: OwnSession,
  context: RequestContext,
  verify: (tx: Tx) => Promise<T | undefined>,
): Promise<T> {
  const { database, clock, lockout } = ports
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
      .countIfRefused(ofSession, wrongFactor, () =>
        lockout.countIfRefused(subject, wrongFactor, () => suspendingCopies(ports, context, verifyInTransaction)),
      )
  } catch (error) {
    if (isWrongFactor(error)) {
      const event = { workspaceId: null, targetId: session.sessionId, detail: { reason: failureOf(error) } }
      await recordRefusal(database, unauthenticatedAuditContext(session.accountId, context, clock.now()), event)
    }
    throw error
  }
}

function strongFactor(
  ports: FactorPorts,
  account: AccountKey & Pick<FactorOwner, 'challenge'>,
  factor: StrongFactor,
  context: RequestContext,
  now: Instant,
): Verification {
  if (factor.method === 'PASSKEY') return passkeyFactor(ports, account, factor.credential, context, now)
  const { method, code } = factor
  const verification =
    method === 'OTP' ? totp(ports, account, code, now) : backupCode(ports, account, code, context, now)
  return verification.map((verify) => async (tx) => ((await verify(tx)) ? { method } : undefined))
}

type CodeVerification = Statements<(tx: Tx) => Promise<boolean>>

function totp({ secretBox }: IdentityPorts, { portal, id }: AccountKey, code: string, now: Instant): CodeVerification {
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
): CodeVerification {
  return spendBackupCode(portal, id, backupCodeCandidates(digest, portal, id, code), now).map(
    (isSpent) => async (tx) => {
      if (isSpent) await queueNotice(tx, ids, { portal, id }, 'BACKUP_CODE_USED', context, now)
      return isSpent
    },
  )
}
