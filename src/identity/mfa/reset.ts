import type { Tx } from '../../database/index.ts'
import type { AccountId, Instant, Portal, SessionId } from '../../kernel/index.ts'
import { endSessions } from '../sessions/store.ts'
import { isBackupCodeUsedSince, readBackupCodeCounts, readOtp, readUsedTimeStep, removeFactors } from './store.ts'
import { stepAt } from './totp.ts'

interface FactorOwner {
  portal: Portal
  id: AccountId
}

export const areFactorsSet = async (tx: Tx, { portal, id }: FactorOwner): Promise<boolean> =>
  Boolean((await readOtp(tx, portal, id))?.secret) || (await readBackupCodeCounts(tx, portal, id)).remainingCount > 0

export const areFactorsUsedSince = async (tx: Tx, { portal, id }: FactorOwner, since: Instant): Promise<boolean> =>
  (await readUsedTimeStep(tx, portal, id)) > stepAt(since) || isBackupCodeUsedSince(tx, portal, id, since)

/** Ends all sessions, because their device may be lost. The caller must have locked the account's row. */
export const resetFactors = async (tx: Tx, account: FactorOwner, at: Instant): Promise<SessionId[]> => {
  await removeFactors(tx, account.portal, account.id)
  return endSessions(tx, account, 'TERMINATED', at)
}
