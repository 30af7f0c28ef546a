import { run, type Tx } from '../../../database/index.ts'
import { type AccountId, addMs, type Instant, type Portal, type SessionId } from '../../../kernel/index.ts'
import type { Cache } from '../../../platform/cache/index.ts'
import { forgetCodeMails } from '../../codes/service.ts'
import type { Lockout } from '../../lockout/service.ts'
import { endSessions } from '../../sessions/service.ts'
import { readPasskeys } from '../../webauthn/store.ts'
import { isOldFactorUsedSince, readBackupCodeCounts, readOtp, readUsedTimeStep, removeFactors } from '../store.ts'
import { stepAt } from '../totp.ts'
import { deleteFormerFactors } from './former-store.ts'

interface FactorOwner {
  portal: Portal
  id: AccountId
}

export async function areFactorsSet(tx: Tx, { portal, id }: FactorOwner): Promise<boolean> {
  return (
    Boolean((await readOtp(tx, portal, id))?.secret) ||
    (await readBackupCodeCounts(tx, portal, id)).remainingCount > 0 ||
    (await readPasskeys(tx, { portal, id })).length > 0
  )
}

/** Ignores factors that were enrolled less than `suspicionMs` before `since`, because a thief may have enrolled them. */
export async function areFactorsUsedSince(
  tx: Tx,
  account: FactorOwner,
  since: Instant,
  suspicionMs: number,
): Promise<boolean> {
  const { portal, id } = account
  const countedBy = addMs(since, -suspicionMs)
  const countedFrom = (await readOtp(tx, portal, id))?.countedFrom ?? null
  const isOld = countedFrom !== null && countedFrom <= countedBy
  return (
    (isOld && (await readUsedTimeStep(tx, portal, id)) > stepAt(since)) ||
    isOldFactorUsedSince(tx, portal, id, { since, countedBy })
  )
}

/** Ends all sessions, because their device may be lost. The caller must have locked the account's row. */
export async function resetFactors(tx: Tx, account: FactorOwner, at: Instant): Promise<SessionId[]> {
  await removeFactors(tx, account.portal, account.id)
  await deleteFormerFactors(tx, account)
  return endSessions(tx, account, 'TERMINATED', at)
}

/** Clears what a thief's sessions have used up. Otherwise, the recovered owner could not step up. */
export async function forgetFailures(
  { cache, lockout }: { cache: Cache; lockout: Lockout },
  tx: Tx,
  account: FactorOwner,
): Promise<void> {
  await run(tx, lockout.clear(lockout.factorSubject(account.portal, account.id)))
  await forgetCodeMails(cache, account)
}
