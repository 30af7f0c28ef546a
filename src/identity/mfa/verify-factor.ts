import type { Tx } from '../../database/index.ts'
import type { AccountId, Instant, Portal, RequestContext } from '../../kernel/index.ts'
import { codeDigest } from '../codes/rules.ts'
import { type CodeOwner, spendCode } from '../codes/store.ts'
import { queueNotice } from '../notices/service.ts'
import type { IdentityPorts } from '../ports.ts'
import { readOtp, spendTimeStep } from './authenticator-store.ts'
import { spendBackupCode } from './backup-code-store.ts'
import { backupCodeDigest } from './backup-codes.ts'
import type { MfaMethod } from './contract.ts'
import { openSecret, timeStepOf } from './totp.ts'

/** A second factor that a client presents. */
export interface PresentedFactor {
  method: MfaMethod
  code: string
}

/** The account whose factor it must be, and the owner of a mailed code. */
export interface FactorOwner {
  portal: Portal
  accountId: AccountId
  code: CodeOwner
}

const verifyTotp = async (
  { secretBox }: IdentityPorts,
  tx: Tx,
  { portal, accountId }: FactorOwner,
  code: string,
  now: Instant,
): Promise<boolean> => {
  const otp = await readOtp(tx, portal, accountId)
  if (!otp?.secret) return false
  const step = timeStepOf(openSecret(secretBox, portal, accountId, otp.secret), code, now)
  return step !== undefined && spendTimeStep(tx, portal, accountId, otp.secret, step)
}

const verifyBackupCode = async (
  { digest, ids }: IdentityPorts,
  tx: Tx,
  { portal, accountId }: FactorOwner,
  code: string,
  context: RequestContext,
  now: Instant,
): Promise<boolean> => {
  const codeHash = backupCodeDigest(digest, portal, accountId, code)
  if (!(await spendBackupCode(tx, portal, accountId, codeHash, now))) return false
  await queueNotice(tx, ids, { portal, id: accountId }, 'BACKUP_CODE_USED', context, now)
  return true
}

/**
 * Verifies a second factor and spends it: one conditional statement makes it work once. Returns false if it is wrong. Does
 * not count failures; see `verifyCode` and the lockout.
 */
export const verifyFactor = (
  ports: IdentityPorts,
  tx: Tx,
  owner: FactorOwner,
  { method, code }: PresentedFactor,
  context: RequestContext,
  now: Instant,
): Promise<boolean> => {
  if (method === 'OTP') return verifyTotp(ports, tx, owner, code, now)
  if (method === 'BACKUP_CODE') return verifyBackupCode(ports, tx, owner, code, context, now)
  return spendCode(tx, owner.code, codeDigest(ports.digest, owner.code, code), now)
}
