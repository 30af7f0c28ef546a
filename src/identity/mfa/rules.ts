import { addMs, type Instant, type Permission } from '../../kernel/index.ts'
import type { Account } from '../accounts/store.ts'
import type { IdentitySettings } from '../settings.ts'

/** Whether an account may use mailed codes, according to `portals.<portal>.mfa.mailCodes`. */
export function allowsMailCodes(
  { portals }: Pick<IdentitySettings, 'portals'>,
  { portal, operatorPermissions }: Pick<Account, 'portal' | 'operatorPermissions'>,
  hasAuthenticator: boolean,
): boolean {
  const { mailCodes } = portals[portal].mfa
  if (mailCodes === 'always') return true
  if (mailCodes === 'never' && (portal === 'CONSUMER' || operatorPermissions.some(decides))) return false
  return !hasAuthenticator
}

/** A thief may have enrolled a factor that is younger than the suspicion window. */
export function isYoung(countedFrom: Instant, at: Instant, suspicionMs: number): boolean {
  return countedFrom > addMs(at, -suspicionMs)
}

/**
 * Whether an authenticator protects the account against a person who has only its mailbox. A young one does so if it
 * continues an older one: otherwise, replacing an authenticator would leave the account without protection.
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
