import type { Database } from '../../database/index.ts'
import type { Instant } from '../../kernel/index.ts'
import type { Account } from '../accounts/account.ts'
import { backupCodeStatus } from './backup-code-store.ts'
import type { MfaMethod } from './contract.ts'
import { readOtp } from './otp-store.ts'

/** A second factor of an account (interface.md 2.7), before it is rendered. */
export interface MfaEntry {
  method: MfaMethod
  isEnabled: boolean
  isPrimary: boolean
  verifiedAt: Instant | null
}

/** Every method, enabled or not. The mailbox always counts; an authenticator takes the first place from it. */
export const mfaMethods = async (
  database: Database,
  { portal, id, emailVerifiedAt }: Pick<Account, 'portal' | 'id' | 'emailVerifiedAt'>,
): Promise<MfaEntry[]> => {
  const otp = await readOtp(database, portal, id)
  const backup = await backupCodeStatus(database, portal, id)
  const hasOtp = Boolean(otp?.secret)
  const hasCodes = backup.remainingCount > 0
  return [
    { method: 'EMAIL', isEnabled: true, isPrimary: !hasOtp, verifiedAt: emailVerifiedAt },
    { method: 'OTP', isEnabled: hasOtp, isPrimary: hasOtp, verifiedAt: otp?.verifiedAt ?? null },
    { method: 'BACKUP_CODE', isEnabled: hasCodes, isPrimary: false, verifiedAt: backup.generatedAt },
  ]
}

/** What a login offers. */
export const enabledMethods = async (database: Database, account: Account): Promise<MfaMethod[]> =>
  (await mfaMethods(database, account)).filter(({ isEnabled }) => isEnabled).map(({ method }) => method)
