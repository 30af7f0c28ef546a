import type { Database } from '../../database/index.ts'
import type { Instant } from '../../kernel/index.ts'
import type { Account } from '../accounts/store.ts'
import type { Lockout } from '../lockout/service.ts'
import type { SessionPorts } from '../sessions/service.ts'
import type { IdentitySettings } from '../settings.ts'
import { readOtp } from './authenticator-store.ts'
import { readBackupCodeCounts } from './backup-code-store.ts'
import type { MfaMethod } from './contract.ts'

export interface MfaPorts extends SessionPorts {
  settings: IdentitySettings
  lockout: Lockout
}

/** A second factor of an account. */
export interface MfaEntry {
  method: MfaMethod
  isEnabled: boolean
  isPrimary: boolean
  verifiedAt: Instant | null
}

/** Returns every method, enabled or not. E-mail is always enabled; an active authenticator is the primary method. */
export const listMfaMethods = async (
  database: Database,
  { portal, id, emailVerifiedAt }: Pick<Account, 'portal' | 'id' | 'emailVerifiedAt'>,
): Promise<MfaEntry[]> => {
  const otp = await readOtp(database, portal, id)
  const backup = await readBackupCodeCounts(database, portal, id)
  const hasOtp = Boolean(otp?.secret)
  const hasCodes = backup.remainingCount > 0
  return [
    { method: 'EMAIL', isEnabled: true, isPrimary: !hasOtp, verifiedAt: emailVerifiedAt },
    { method: 'OTP', isEnabled: hasOtp, isPrimary: hasOtp, verifiedAt: otp?.verifiedAt ?? null },
    { method: 'BACKUP_CODE', isEnabled: hasCodes, isPrimary: false, verifiedAt: backup.generatedAt },
  ]
}

/** Returns the methods that a sign-in can be completed with. */
export const listEnabledMethods = async (database: Database, account: Account): Promise<MfaMethod[]> =>
  (await listMfaMethods(database, account)).filter(({ isEnabled }) => isEnabled).map(({ method }) => method)
