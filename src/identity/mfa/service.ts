import { auditedFields } from '../../contract/step-up-purpose.ts'
import { run, type Statements, type Tx, together } from '../../database/index.ts'
import { addMs, type Caller, type Instant, invalid, Refusal, wholeMinutes, wholeSeconds } from '../../kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../platform/audit/index.ts'
import { ownAccount } from '../accounts/service.ts'
import type { Account } from '../accounts/store.ts'
import {
  assertResendable,
  codeDigest,
  countMail,
  maskEmail,
  mintCode,
  resendTooSoon,
  type SentCode,
} from '../codes/service.ts'
import { type CodeOwner, readCodeSentAt, renewCode } from '../codes/store.ts'
import type { Lockout } from '../lockout/service.ts'
import type { CallerContext } from '../ports.ts'
import { recordStepUp } from '../sessions/activity-store.ts'
import { rotateCookie } from '../sessions/cookie.ts'
import { assertSession, type OwnSession } from '../sessions/rules.ts'
import type { SessionPorts } from '../sessions/service.ts'
import { type IdentitySettings, rulesOf } from '../settings.ts'
import type { StepUpAbsence } from '../step-ups/absence.ts'
import { recordPurpose } from '../step-ups/service.ts'
import { createRequestOptions } from '../webauthn/ceremony.ts'
import { createStepUpChallenge, stepUpBinding } from '../webauthn/challenges.ts'
import type { RequestOptions } from '../webauthn/contract.ts'
import { passkeySettings } from '../webauthn/factor.ts'
import { type Passkey, passkeysOf, readPasskeys, whereOffered } from '../webauthn/store.ts'
import type { MfaMethod, StepUpPurpose } from './contract.ts'
import type { PresentedFactor } from './presented.ts'
import { type ConfirmedCommand, describePurpose, parsePurpose } from './purpose.ts'
import {
  allowsMailCodes,
  assertStepUpFactor,
  mustSignInByPasskey,
  offeredPasskeys,
  type StrongFactors,
  stepUpMethodOf,
  usablePasskeys,
} from './rules.ts'
import { type BackupCodeCounts, backupCodeCounts, type OtpFactor, otpOf } from './store.ts'
import { assertMailAllowed, factorOf, verifyCode } from './verify.ts'

export interface MfaPorts extends SessionPorts {
  settings: IdentitySettings
  lockout: Lockout
  stepUpAbsence: StepUpAbsence
}

export interface MfaEntry {
  method: MfaMethod
  isEnabled: boolean
  isPrimary: boolean
  verifiedAt: Instant | null
}

export interface StoredFactors extends StrongFactors {
  otp: OtpFactor | undefined
  backup: BackupCodeCounts
}

export function factorsOf(
  settings: Pick<IdentitySettings, 'portals'>,
  { portal, id }: Pick<Account, 'portal' | 'id'>,
): Statements<StoredFactors> {
  const passkeys = whereOffered(settings, portal, passkeysOf({ portal, id }))
  const all = together([otpOf(portal, id), backupCodeCounts(portal, id), passkeys])
  return all.map(([otp, backup, stored]) => ({ otp, backup, passkeys: stored }))
}

/** Includes disabled methods. */
export async function listMfaMethods(
  { database, settings }: Pick<MfaPorts, 'database' | 'settings'>,
  account: Account,
): Promise<MfaEntry[]> {
  return toMfaEntries(settings, account, await run(database, factorsOf(settings, account)))
}

export function enabledMethods(settings: IdentitySettings, account: Account, factors: StoredFactors): MfaMethod[] {
  const isPasskeyOnly = mustSignInByPasskey(settings, account, factors.passkeys)
  return toMfaEntries(settings, account, factors)
    .filter(({ method, isEnabled }) => isEnabled && (method === 'PASSKEY' || !isPasskeyOnly))
    .map(({ method }) => method)
}

/**
 * Replaces the previous code. Throws ACCESS.RATE_LIMITED, AUTH.MFA_METHOD_NOT_ALLOWED if the account cannot use mailed
 * codes, and the refusals of `parsePurpose` and `describePurpose`.
 */
export async function sendStepUpCode(
  ports: MfaPorts,
  requested: StepUpPurpose | undefined,
  context: CallerContext,
): Promise<SentCode> {
  const { cache, clock, codeMails, database, digest, lockout, purposes, randomness, settings, words } = ports
  const { codeTtlMs, resendMs } = settings.login
  const session = assertSession(context.caller)
  const { portal, accountId } = session
  const account = await ownAccount(database, context.caller)
  const factors = await run(database, factorsOf(settings, account))
  assertMailAllowed(settings, account, factors)
  const parsed = await requestedPurpose(ports, requested, context.caller)
  assertStepUpFactor(settings, account, factors.passkeys, 'EMAIL', parsed?.operation ?? null)
  const purpose = await describePurpose({ ...purposes, words }, parsed, context.locale)
  const owner = stepUpCodeOwner(session, parsed, settings.mfa)
  const now = clock.now()
  const code = mintCode(randomness)
  const expiresAt = addMs(now, codeTtlMs)
  assertResendable(await readCodeSentAt(database, owner), now, resendMs)
  // Count first, so that the previous code stays valid if the quota is exhausted.
  const limit = rulesOf(settings, portal).codeSends
  // The session proves a known device.
  const quota = { limit, mayUseReserve: true, session: session.sessionId }
  await countMail(cache, { portal, subject: accountId, kind: 'code', ...quota })
  const renewed = renewCode(owner, codeDigest(digest, owner, code), now, expiresAt, resendMs)
  if (!(await run(database, renewed))) throw resendTooSoon(resendMs, 'a concurrent request sends a code', resendMs)
  const values = { code, minutes: String(wholeMinutes(codeTtlMs)), purpose }
  await codeMails.send({ to: account.email, template: 'step-up-code', locale: context.locale, values })
  return {
    maskedDestination: maskEmail(account.email),
    expiresIn: Math.floor(codeTtlMs / 1_000),
    resendAfter: wholeSeconds(resendMs),
    attemptsRemaining: Math.min(
      await lockout.remainingFailures(lockout.factorSubject(portal, accountId)),
      await lockout.ofSession().remainingFailures(lockout.sessionSubject(portal, session.sessionId)),
    ),
  }
}

/** Throws AUTH.MFA_METHOD_NOT_ALLOWED without a passkey, AUTH.PASSKEYS_NOT_AVAILABLE, and the refusals of `parsePurpose`. */
export async function createStepUpOptions(
  ports: MfaPorts,
  requested: StepUpPurpose | undefined,
  context: CallerContext,
): Promise<RequestOptions> {
  const { database, settings } = ports
  const session = assertSession(context.caller)
  const passkeys = passkeySettings(settings, session.portal)
  const purpose = await requestedPurpose(ports, requested, context.caller)
  const stored = await readPasskeys(database, { portal: session.portal, id: session.accountId })
  const allowed = offeredPasskeys(settings, await ownAccount(database, context.caller), stored)
  if (allowed.length === 0) throw new Refusal('AUTH.MFA_METHOD_NOT_ALLOWED', { internal: 'the account has no passkey' })
  const stepUp = { ...session, purposeDigest: purpose?.digest ?? null }
  return createRequestOptions(passkeys, await createStepUpChallenge(ports, database, stepUp, context), allowed)
}

/**
 * Verifies a second factor and records the step-up: for the purpose, or with `mfa.binding: session` for the session.
 * Returns the new cookie of a browser session. Throws the refusals of `verifyCode` and `parsePurpose`.
 */
export async function stepUp(
  ports: MfaPorts,
  factor: PresentedFactor,
  requested: StepUpPurpose | undefined,
  context: CallerContext,
): Promise<string | undefined> {
  const { mfa } = ports.settings
  const session = assertSession(context.caller)
  const purpose = await requestedPurpose(ports, requested, context.caller)
  const challenge = stepUpBinding({ ...session, purposeDigest: purpose?.digest ?? null })
  const operation = purpose?.operation ?? null
  const verified = verifyCode(ports, session, context, async (tx) => {
    const now = ports.clock.now()
    const account = await ownAccount(tx, context.caller)
    const { portal, id } = account
    const passkeys = await run(tx, whereOffered(ports.settings, portal, passkeysOf(account)))
    const method = stepUpMethodOf(portal, factor, passkeys)
    assertStepUpFactor(ports.settings, account, passkeys, method, operation)
    const owner = { portal, id, code: stepUpCodeOwner(session, purpose, mfa), challenge }
    const verify = await run(tx, factorOf(ports, owner, factor, context, now))
    const proof = await verify(tx, account)
    if (!proof) return undefined
    return { cookie: await finishStepUp(ports, tx, purpose, proof, context, now) }
  })
  const { cookie } = await findStepUpAfter(ports, session, verified)
  return cookie
}

/** Resolves once every replica finds the step-up that `recorded` has committed. */
export async function findStepUpAfter<T>(
  { sessionCache, stepUpAbsence }: Pick<MfaPorts, 'sessionCache' | 'stepUpAbsence'>,
  { sessionId }: OwnSession,
  recorded: Promise<T>,
): Promise<T> {
  const result = await recorded.finally(() => stepUpAbsence.forget(sessionId))
  sessionCache.invalidate(sessionId)
  await stepUpAbsence.settle()
  return result
}

/**
 * The end of every step-up: records it, and returns the new cookie of a browser session. `proof` is what the audit log
 * keeps about the factor. Call this within `findStepUpAfter`.
 */
export async function finishStepUp(
  ports: MfaPorts,
  tx: Tx,
  purpose: ConfirmedCommand | null,
  proof: Readonly<Record<string, string | number>>,
  context: CallerContext,
  now: Instant,
): Promise<string | undefined> {
  const { mfa } = ports.settings
  const session = assertSession(context.caller)
  if (mfa.binding === 'session') await recordStepUp(tx, session, now)
  else if (purpose) await recordPurpose(tx, session, purpose.digest, mfa, now)
  await recordSuccess(tx, auditContextOf(context), {
    workspaceId: purpose?.workspaceId ?? null,
    targetId: session.sessionId,
    detail: {
      ...proof,
      ...(purpose && auditedFields(purpose.fields)),
      ...(purpose && { operation: purpose.operation.id, purposeDigest: purpose.digest }),
    },
  })
  return rotateCookie(ports, tx, context.caller, now)
}

/** Returns null without a purpose. Throws VALIDATION.INVALID_PARAMETER if `mfa.binding` requires one. */
export async function requestedPurpose(
  { purposes, settings }: MfaPorts,
  requested: StepUpPurpose | undefined,
  caller: Caller,
): Promise<ConfirmedCommand | null> {
  if (requested) return parsePurpose(purposes, requested, caller)
  if (settings.mfa.binding === 'purpose') throw invalid('purpose', 'a step-up needs a purpose')
  return null
}

function toMfaEntries(settings: IdentitySettings, account: Account, factors: StoredFactors): MfaEntry[] {
  const { otp, backup } = factors
  const { emailVerifiedAt } = account
  const [passkey] = usablePasskeys(settings, account.portal, factors.passkeys)
  const hasOtp = Boolean(otp?.secret)
  const hasCodes = backup.remainingCount > 0
  const usesMail = allowsMailCodes(settings, account, factors)
  return [
    { method: 'EMAIL', isEnabled: usesMail, isPrimary: usesMail && !hasOtp && !passkey, verifiedAt: emailVerifiedAt },
    { method: 'OTP', isEnabled: hasOtp, isPrimary: hasOtp && !passkey, verifiedAt: otp?.verifiedAt ?? null },
    { method: 'BACKUP_CODE', isEnabled: hasCodes, isPrimary: false, verifiedAt: backup.generatedAt },
    // Last, because clients of earlier releases use the first method.
    ...(rulesOf(settings, account.portal).passkeys ? [passkeyEntry(passkey)] : []),
  ]
}

function passkeyEntry(passkey: Passkey | undefined): MfaEntry {
  const isUsable = passkey !== undefined
  return { method: 'PASSKEY', isEnabled: isUsable, isPrimary: isUsable, verifiedAt: passkey?.createdAt ?? null }
}

/** With `mfa.binding: session`, a code confirms any command, regardless of its mail. */
function stepUpCodeOwner(
  { portal, sessionId }: OwnSession,
  purpose: ConfirmedCommand | null,
  { binding }: IdentitySettings['mfa'],
): CodeOwner {
  return {
    portal,
    owner: sessionId,
    purpose: 'STEP_UP',
    ...(binding === 'purpose' && purpose && { confirms: purpose.digest }),
  }
}
