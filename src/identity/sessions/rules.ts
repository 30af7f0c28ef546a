import { timingSafeEqual } from 'node:crypto'
import type { PortalConfiguration } from '../../config/index.ts'
import { isValidAt } from '../../database/index.ts'
import {
  type AccountId,
  type Caller,
  hasWorkspaces,
  type Instant,
  type Permission,
  type Portal,
  Refusal,
  type SessionId,
} from '../../kernel/index.ts'
import { rulesOf } from '../settings.ts'
import type { SignInMethod } from './schema.ts'

export function isEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

export interface OwnSession {
  portal: Portal
  accountId: AccountId
  sessionId: SessionId
}

/** Throws ACCESS.TOKEN_INVALID for an API key. */
export function assertSession({ portal, accountId, sessionId }: Caller): OwnSession {
  if (sessionId === null) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'an API key has no session' })
  return { portal, accountId, sessionId }
}

export interface SessionTimes {
  lastActivityAt: Instant
  idleExpiresAt: Instant
  expiresAt: Instant
}

/** Whether a session has expired. `isUnexpired` in store.ts implements the same rule in SQL. */
export function hasExpired({ lastActivityAt, idleExpiresAt, expiresAt }: SessionTimes, now: Instant): boolean {
  return expiresAt <= now || !isValidAt({ from: lastActivityAt, until: idleExpiresAt }, now)
}

/** The settings `mfa.required` of the portals. */
interface RequiredFactors {
  portals: Record<Portal, Pick<PortalConfiguration, 'mfa'>>
}

/** The permissions that every workspace of the portal withholds from a session that was not started with a passkey. */
export function withheldByWorkspaces(settings: RequiredFactors, portal: Portal): Caller['withheldByWorkspaces'] {
  if (!hasWorkspaces(portal)) return undefined
  const { passkey } = rulesOf(settings, portal).mfa.required
  return passkey === 'none' ? undefined : passkey === 'all' ? passkey : new Set(passkey)
}

/** Whether `mfa.required` holds an account to passkeys. Everybody with workspaces can have permissions in one. */
export function needsPasskey(
  settings: RequiredFactors,
  account: { portal: Portal; operatorPermissions: readonly Permission[] },
): boolean {
  return hasWorkspaces(account.portal)
    ? rulesOf(settings, account.portal).mfa.required.passkey !== 'none'
    : permissionsOfPasskey(settings, account).length > 0
}

const none: readonly Permission[] = []

/** The permissions of an operator that need a passkey, according to `portals.<portal>.mfa.required`. */
export function permissionsOfPasskey(
  settings: RequiredFactors,
  { portal, operatorPermissions }: { portal: Portal; operatorPermissions: readonly Permission[] },
): readonly Permission[] {
  const { passkey } = rulesOf(settings, portal).mfa.required
  if (passkey === 'none') return none
  return passkey === 'all' ? operatorPermissions : operatorPermissions.filter((each) => passkey.includes(each))
}

interface SignIn {
  portal: Portal
  signedInBy: SignInMethod | null
  enrolledPasskey: boolean
}

/**
 * Whether a phisher cannot relay this sign-in, and cannot have registered the passkey. A session that is older than the
 * columns does not count.
 */
export function resistsPhishing({ portal, signedInBy, enrolledPasskey }: SignIn): boolean {
  return signedInBy === 'PASSKEY' && countsAsRequired(portal, enrolledPasskey)
}

/** Only operators have enrollment tokens. */
export function countsAsRequired(portal: Portal, isEnrolled: boolean): boolean {
  return hasWorkspaces(portal) || isEnrolled
}
