import { run, type Tx } from '../../../database/index.ts'
import type { AccountId, Instant, Portal, Randomness } from '../../../kernel/index.ts'
import type { SecretBox } from '../../../platform/crypto/index.ts'
import type { IdentitySettings } from '../../settings.ts'
import { fromBase64url } from '../../webauthn/encoding.ts'
import {
  deletePasskeys,
  type Passkey,
  passkeyWithCredential,
  readPasskeys,
  suspendPasskey,
} from '../../webauthn/store.ts'
import type { MfaMethod } from '../contract.ts'
import type { StrongFactor } from '../presented.ts'
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
import { formerFactorEnd, insertFormerFactor } from './former-store.ts'

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
  const ages = await strongFactorsCountedFrom(tx, account)
  const formerEnd = await formerFactorEnd(tx, account)
  const { suspicionMs } = ports.settings
  if (ages.length > 0) return ages.some((countedFrom) => isProtective(countedFrom, formerEnd, at, suspicionMs))
  return formerEnd !== null && isYoung(formerEnd, at, suspicionMs)
}

/** Whether the account has an authenticator or a passkey, of any age. */
export async function hasStrongFactor(tx: Tx, account: FactorOwner): Promise<boolean> {
  return (await strongFactorsCountedFrom(tx, account)).length > 0
}

/** Whether a thief may have enrolled the factor. False without one. */
export async function isFactorYoung(
  { settings }: SuspicionPorts,
  tx: Tx,
  account: FactorOwner,
  factor: StrongFactor,
  at: Instant,
): Promise<boolean> {
  const countedFrom = await factorCountedFrom(tx, account, factor)
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
  await insertFormerFactor(tx, account, { method: 'OTP', enrolledAt, endedAt: at, lastUsedAt })
}

/** Call before a passkey is deleted or suspended. */
export async function keepFormerPasskey(
  ports: SuspicionPorts,
  tx: Tx,
  account: FactorOwner,
  { createdAt: enrolledAt, lastUsedAt }: Passkey,
  at: Instant,
): Promise<void> {
  if (!(await isProtected(ports, tx, account, enrolledAt, at))) return
  await insertFormerFactor(tx, account, { method: 'PASSKEY', enrolledAt, endedAt: at, lastUsedAt })
}

export interface RemovalPorts extends SuspicionPorts {
  randomness: Randomness
  secretBox: SecretBox
}

/** The methods of removed factors. With `_LOCKED`, the account keeps a factor that nobody can use. */
export const factorMethod = {
  OTP: 'OTP',
  OTP_LOCKED: 'OTP',
  BACKUP_CODE: 'BACKUP_CODE',
  PASSKEY: 'PASSKEY',
  PASSKEY_LOCKED: 'PASSKEY',
} as const satisfies Record<string, MfaMethod>
export type RemovedFactor = keyof typeof factorMethod

/** A factor that the owner has just used. An account has several passkeys, so one is named by its credential. */
export interface ProvenFactor {
  method: StrongFactor['method']
  credentialId: Uint8Array | null
}

export function provenBy(factor: StrongFactor): ProvenFactor {
  const credentialId = factor.method === 'PASSKEY' ? fromBase64url(factor.credential.id) : null
  return { method: factor.method, credentialId }
}

/**
 * Removes the factors that a thief may have enrolled, except `proven`. If an authenticator or a passkey replaced an older
 * factor, the account keeps it, but nobody can use it: without one, the mailbox alone would open the account. The caller
 * must have locked the account's row.
 */
export async function removeYoungFactors(
  ports: RemovalPorts,
  tx: Tx,
  account: FactorOwner,
  { proven, at }: { proven: ProvenFactor | null; at: Instant },
): Promise<RemovedFactor[]> {
  const { randomness, secretBox, settings } = ports
  const { portal, id } = account
  const isSuspicious = (from: Instant | null): from is Instant =>
    from !== null && isYoung(from, at, settings.suspicionMs)
  const removed: RemovedFactor[] = []
  const countedFrom = await authenticatorCountedFrom(tx, account)
  if (proven?.method !== 'OTP' && isSuspicious(countedFrom)) {
    const isLocked = await isProtected(ports, tx, account, countedFrom, at)
    await keepFormerAuthenticator(ports, tx, account, at)
    if (isLocked)
      await replaceSecret(tx, portal, id, sealSecret(secretBox, portal, id, randomness.bytes(secretBytes)), at)
    else await removeOtp(tx, portal, id)
    removed.push(isLocked ? 'OTP_LOCKED' : 'OTP')
  }
  const codes = await readBackupCodeCounts(tx, portal, id)
  if (proven?.method !== 'BACKUP_CODE' && isSuspicious(codes.countedFrom)) {
    await removeBackupCodes(tx, portal, id)
    removed.push('BACKUP_CODE')
  }
  return [...removed, ...(await removeYoungPasskeys(ports, tx, account, { proven, at }))]
}

async function removeYoungPasskeys(
  ports: SuspicionPorts,
  tx: Tx,
  account: FactorOwner,
  { proven, at }: { proven: ProvenFactor | null; at: Instant },
): Promise<RemovedFactor[]> {
  const isProven = ({ credentialId }: Passkey) =>
    proven?.credentialId && Buffer.from(credentialId).equals(proven.credentialId)
  const all = await readPasskeys(tx, account)
  const young = all.filter(
    (each) => each.suspendedAt === null && isYoung(each.createdAt, at, ports.settings.suspicionMs) && !isProven(each),
  )
  const removed = new Set<RemovedFactor>()
  for (const passkey of young) {
    const isLocked = await isProtected(ports, tx, account, passkey.createdAt, at)
    await keepFormerPasskey(ports, tx, account, passkey, at)
    if (isLocked) await suspendPasskey(tx, passkey, at)
    else await deletePasskeys(tx, account, [passkey.id])
    removed.add(isLocked ? 'PASSKEY_LOCKED' : 'PASSKEY')
  }
  return [...removed]
}

async function strongFactorsCountedFrom(tx: Tx, account: FactorOwner): Promise<Instant[]> {
  const otp = await authenticatorCountedFrom(tx, account)
  const passkeys = await readPasskeys(tx, account)
  return [...(otp === null ? [] : [otp]), ...passkeys.map(({ createdAt }) => createdAt)]
}

async function factorCountedFrom(tx: Tx, account: FactorOwner, factor: StrongFactor): Promise<Instant | null> {
  if (factor.method !== 'PASSKEY')
    return factor.method === 'OTP'
      ? authenticatorCountedFrom(tx, account)
      : (await readBackupCodeCounts(tx, account.portal, account.id)).countedFrom
  const found = await run(tx, passkeyWithCredential(account.portal, fromBase64url(factor.credential.id)))
  return found?.accountId === account.id ? found.createdAt : null
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
  return isProtective(countedFrom, await formerFactorEnd(tx, account), at, suspicionMs)
}
