import type { Tx } from '../../../database/index.ts'
import type { AccountId, Instant, Portal, Randomness } from '../../../kernel/index.ts'
import type { SecretBox } from '../../../platform/crypto/index.ts'
import type { IdentitySettings } from '../../settings.ts'
import type { MfaMethod } from '../contract.ts'
import { isProtective, isYoung } from '../rules.ts'
import {
  lockOtp,
  readBackupCodeCounts,
  readUsedTimeStep,
  removeBackupCodes,
  removeOtp,
  replaceSecret,
} from '../store.ts'
import { sealSecret, secretBytes, stepStart } from '../totp.ts'
import { formerAuthenticatorEnd, insertFormerAuthenticator } from './former-store.ts'

interface FactorOwner {
  portal: Portal
  id: AccountId
}

export interface SuspicionPorts {
  settings: Pick<IdentitySettings, 'suspicionMs'>
}

/** Whether a person needs more than the account's mailbox to recover it. */
export async function bindsRecovery(
  ports: SuspicionPorts,
  tx: Tx,
  account: FactorOwner,
  at: Instant,
): Promise<boolean> {
  const countedFrom = await authenticatorCountedFrom(tx, account)
  if (countedFrom !== null) return isProtected(ports, tx, account, countedFrom, at)
  const removedAt = await formerAuthenticatorEnd(tx, account)
  return removedAt !== null && isYoung(removedAt, at, ports.settings.suspicionMs)
}

/** Whether a thief may have enrolled the factor. False without one. */
export async function isFactorYoung(
  { settings }: SuspicionPorts,
  tx: Tx,
  account: FactorOwner,
  method: Exclude<MfaMethod, 'EMAIL'>,
  at: Instant,
): Promise<boolean> {
  const countedFrom =
    method === 'OTP'
      ? await authenticatorCountedFrom(tx, account)
      : (await readBackupCodeCounts(tx, account.portal, account.id)).countedFrom
  return countedFrom !== null && isYoung(countedFrom, at, settings.suspicionMs)
}

/** Call before an authenticator is replaced or removed. */
export async function keepFormerAuthenticator(
  ports: SuspicionPorts,
  tx: Tx,
  account: FactorOwner,
  at: Instant,
): Promise<void> {
  const enrolledAt = await authenticatorCountedFrom(tx, account)
  if (enrolledAt === null || !(await isProtected(ports, tx, account, enrolledAt, at))) return
  const lastUsedAt = stepStart(await readUsedTimeStep(tx, account.portal, account.id))
  await insertFormerAuthenticator(tx, account, { enrolledAt, endedAt: at, lastUsedAt })
}

export interface RemovalPorts extends SuspicionPorts {
  randomness: Randomness
  secretBox: SecretBox
}

/** The methods of removed factors. OTP_LOCKED: the account has an authenticator whose secret nobody knows. */
export const factorMethod = { OTP: 'OTP', OTP_LOCKED: 'OTP', BACKUP_CODE: 'BACKUP_CODE' } as const satisfies Record<
  string,
  MfaMethod
>
export type RemovedFactor = keyof typeof factorMethod

/**
 * Removes the factors that a thief may have enrolled, except `proven`. If the authenticator replaced an older one, it
 * gets a secret that nobody knows: without an authenticator, the mailbox alone would open the account. The caller must
 * have locked the account's row.
 */
export async function removeYoungFactors(
  ports: RemovalPorts,
  tx: Tx,
  account: FactorOwner,
  { proven, at }: { proven: MfaMethod | null; at: Instant },
): Promise<RemovedFactor[]> {
  const { randomness, secretBox, settings } = ports
  const { portal, id } = account
  const isSuspicious = (from: Instant | null): from is Instant =>
    from !== null && isYoung(from, at, settings.suspicionMs)
  const removed: RemovedFactor[] = []
  const countedFrom = await authenticatorCountedFrom(tx, account)
  if (proven !== 'OTP' && isSuspicious(countedFrom)) {
    const isLocked = await isProtected(ports, tx, account, countedFrom, at)
    await keepFormerAuthenticator(ports, tx, account, at)
    if (isLocked)
      await replaceSecret(tx, portal, id, sealSecret(secretBox, portal, id, randomness.bytes(secretBytes)), at)
    else await removeOtp(tx, portal, id)
    removed.push(isLocked ? 'OTP_LOCKED' : 'OTP')
  }
  const codes = await readBackupCodeCounts(tx, portal, id)
  if (proven !== 'BACKUP_CODE' && isSuspicious(codes.countedFrom)) {
    await removeBackupCodes(tx, portal, id)
    removed.push('BACKUP_CODE')
  }
  return removed
}

async function authenticatorCountedFrom(tx: Tx, { portal, id }: FactorOwner): Promise<Instant | null> {
  return (await lockOtp(tx, portal, id))?.countedFrom ?? null
}

async function isProtected(
  { settings: { suspicionMs } }: SuspicionPorts,
  tx: Tx,
  account: FactorOwner,
  countedFrom: Instant,
  at: Instant,
): Promise<boolean> {
  return isProtective(countedFrom, await formerAuthenticatorEnd(tx, account), at, suspicionMs)
}
