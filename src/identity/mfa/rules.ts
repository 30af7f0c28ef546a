import {
  addMs,
  domainOf,
  hasWorkspaces,
  type Instant,
  type Operation,
  type Permission,
  type Portal,
  Refusal,
} from '../../kernel/index.ts'
import type { Account } from '../accounts/store.ts'
import { countsAsRequired, needsPasskey } from '../sessions/rules.ts'
import { type IdentitySettings, rulesOf } from '../settings.ts'
import { toBase64url } from '../webauthn/encoding.ts'
import type { Passkey } from '../webauthn/store.ts'
import type { MfaMethod } from './contract.ts'
import type { PresentedFactor } from './presented.ts'
import type { OtpFactor } from './store.ts'

export interface StrongFactors {
  otp: Pick<OtpFactor, 'secret'> | undefined
  passkeys: readonly Passkey[]
}

type PortalSettings = Pick<IdentitySettings, 'portals'>
type PortalAccount = Pick<Account, 'portal' | 'operatorPermissions'>

/** Whether an account may use mailed codes, according to `portals.<portal>.mfa.mailCodes`. */
export function allowsMailCodes(
  settings: PortalSettings,
  { portal, operatorPermissions }: PortalAccount,
  { otp, passkeys }: StrongFactors,
): boolean {
  const { mfa, passkeys: offered } = rulesOf(settings, portal)
  // A suspended passkey counts, because the mailbox must not take its place.
  const hasStrong = Boolean(otp?.secret) || (offered !== undefined && passkeys.length > 0)
  if (mfa.mailCodes === 'always') return true
  if (mfa.mailCodes === 'never' && (hasWorkspaces(portal) || operatorPermissions.some(decides))) return false
  return !hasStrong
}

/** The passkeys with which the account can sign in. */
export function usablePasskeys(
  settings: PortalSettings,
  portal: Portal,
  passkeys: readonly Passkey[],
): readonly Passkey[] {
  return rulesOf(settings, portal).passkeys ? passkeys.filter(({ suspendedAt }) => suspendedAt === null) : []
}

/** The passkeys that give the permissions of `mfa.required.passkey`. A phisher can have registered the others. */
export function countedPasskeys(settings: PortalSettings, portal: Portal, passkeys: readonly Passkey[]) {
  return usablePasskeys(settings, portal, passkeys).filter(({ isEnrolled }) => countsAsRequired(portal, isEnrolled))
}

/** The passkeys that a browser is asked for: if the account needs one that counts, only those. */
export function offeredPasskeys(settings: PortalSettings, account: PortalAccount, passkeys: readonly Passkey[]) {
  const counted = countedPasskeys(settings, account.portal, passkeys)
  const needsCounted = needsPasskey(settings, account) && counted.length > 0
  return needsCounted ? counted : usablePasskeys(settings, account.portal, passkeys)
}

/** Whether only a passkey completes a sign-in. Without one, the account signs in without its permissions. */
export function mustSignInByPasskey(settings: PortalSettings, account: PortalAccount, passkeys: readonly Passkey[]) {
  return (
    rulesOf(settings, account.portal).mfa.required.passkey === 'all' &&
    needsPasskey(settings, account) &&
    countedPasskeys(settings, account.portal, passkeys).length > 0
  )
}

export type StepUpMethod = MfaMethod | 'PROVIDER' | 'UNENROLLED_PASSKEY'

export function stepUpMethodOf(portal: Portal, factor: PresentedFactor, passkeys: readonly Passkey[]): StepUpMethod {
  if (factor.method !== 'PASSKEY') return factor.method
  const passkey = passkeys.find(({ credentialId }) => toBase64url(credentialId) === factor.credential.id)
  return countsAsRequired(portal, passkey?.isEnrolled ?? false) ? 'PASSKEY' : 'UNENROLLED_PASSKEY'
}

/**
 * Whether an account that needs a passkey has none that counts. Except for operators, one with a suspended passkey has to be
 * recovered: otherwise, a thief could copy a passkey in order to replace it.
 */
export function isPasskeyMissing(
  settings: PortalSettings,
  account: PortalAccount,
  passkeys: readonly Passkey[],
): boolean {
  if (!needsPasskey(settings, account)) return false
  return (hasWorkspaces(account.portal) ? passkeys : countedPasskeys(settings, account.portal, passkeys)).length === 0
}

/**
 * Throws ACCESS.PASSKEY_REQUIRED for a step-up by another factor, if the operation has a permission that needs a passkey,
 * gives permissions to other members or to API keys, or changes the passkeys of an account that needs one. Such an account
 * registers the first passkey that counts with another factor, and an operator also with an enrollment token. With
 * `mfa.binding: session`, each step-up allows every operation, not only that of its purpose.
 */
export function assertStepUpFactor(
  settings: PortalSettings & { mfa: Pick<IdentitySettings['mfa'], 'binding'> },
  account: PortalAccount,
  passkeys: readonly Passkey[],
  method: StepUpMethod,
  purpose: Pick<Operation, 'id' | 'policy'> | null,
): void {
  if (method === 'PASSKEY' || !needsPasskey(settings, account)) return
  const operation = settings.mfa.binding === 'session' ? null : purpose
  const changesPasskeys = operation === null || domainOf(operation.id) === 'passkeys'
  if (changesPasskeys && isPasskeyMissing(settings, account, passkeys)) return
  const { passkey: required } = rulesOf(settings, account.portal).mfa.required
  const permission = operation?.policy.permission ?? null
  const isCovered = required === 'all' || (permission !== null && required.includes(permission))
  if (changesPasskeys || isCovered || givesPermissions(operation))
    throw new Refusal('ACCESS.PASSKEY_REQUIRED', { internal: `the step-up was by ${method}` })
}

/** A thief may have enrolled a factor that is younger than the suspicion window. */
export function isYoung(countedFrom: Instant, at: Instant, suspicionMs: number): boolean {
  return countedFrom > addMs(at, -suspicionMs)
}

/**
 * Whether a factor protects the account against a person who has only its mailbox. A young one does so if it
 * continues an older one: otherwise, replacing a factor would leave the account without protection.
 */
export function isProtective(
  countedFrom: Instant,
  formerEnd: Instant | null,
  at: Instant,
  suspicionMs: number,
): boolean {
  return !isYoung(countedFrom, at, suspicionMs) || (formerEnd !== null && isYoung(formerEnd, countedFrom, suspicionMs))
}

function decides(permission: Permission): boolean {
  return /:(approve|confirm|verify|settle|manage)$/.test(permission)
}

/** In a workspace. Its purpose does not say which ones. */
function givesPermissions({ id, policy }: Pick<Operation, 'id' | 'policy'>): boolean {
  if (policy.workspace === 'none' || policy.permission === null) return false
  return policy.changesRights || domainOf(id) === 'invitations'
}
