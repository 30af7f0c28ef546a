import type { Permission } from '../../kernel/index.ts'
import type { Account } from '../accounts/store.ts'
import type { IdentitySettings } from '../settings.ts'

const decides = (permission: Permission): boolean => /:(approve|confirm|verify|settle|manage)$/.test(permission)

/** Whether an account may use mailed codes, according to `portals.<portal>.mfa.mailCodes`. */
export const allowsMailCodes = (
  { portals }: Pick<IdentitySettings, 'portals'>,
  { portal, operatorPermissions }: Pick<Account, 'portal' | 'operatorPermissions'>,
  hasAuthenticator: boolean,
): boolean => {
  const { mailCodes } = portals[portal].mfa
  if (mailCodes === 'always') return true
  if (mailCodes === 'never' && (portal === 'CONSUMER' || operatorPermissions.some(decides))) return false
  return !hasAuthenticator
}
