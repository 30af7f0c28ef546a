import type { Tx } from '../../database/index.ts'
import type { AccountId, Instant, Portal, RequestContext } from '../../kernel/index.ts'
import { type CodeOwner, spendCode } from '../login/code-store.ts'
import { codeDigest } from '../login/one-time-code.ts'
import type { Notices } from '../notices/notices.ts'
import type { IdentityPorts } from '../ports.ts'
import { backupCodeDigest } from './backup-code.ts'
import { spendBackupCode } from './backup-code-store.ts'
import type { MfaMethod } from './contract.ts'
import { openSecret } from './otp-secret.ts'
import { readOtp, spendStep } from './otp-store.ts'
import { stepOf } from './totp.ts'

/** A second factor as it is presented. */
export interface FactorProof {
  method: MfaMethod
  code: string
}

/** Whose factor it is to be, and what a mailed code was sent for. */
interface FactorOwner {
  portal: Portal
  accountId: AccountId
  code: CodeOwner
}

/**
 * Whether the factor is proved; what proves it is spent by one conditional statement, once. The owner of a backup code is
 * told that it was used, and from where.
 */
export type FactorProver = (
  tx: Tx,
  owner: FactorOwner,
  proof: FactorProof,
  facts: RequestContext,
  now: Instant,
) => Promise<boolean>

export const factorProver = ({ digest, secretBox }: IdentityPorts, notices: Notices): FactorProver => {
  const proveOtp = async (tx: Tx, { portal, accountId }: FactorOwner, code: string, now: Instant): Promise<boolean> => {
    const otp = await readOtp(tx, portal, accountId)
    if (!otp?.secret) return false
    const step = stepOf(openSecret(secretBox, portal, accountId, otp.secret), code, now)
    return step !== undefined && spendStep(tx, portal, accountId, otp.secret, step)
  }
  return async (tx, owner, { method, code }, facts, now) => {
    const { portal, accountId } = owner
    if (method === 'OTP') return proveOtp(tx, owner, code, now)
    if (method === 'BACKUP_CODE') {
      const kept = backupCodeDigest(digest, portal, accountId, code)
      if (!(await spendBackupCode(tx, portal, accountId, kept, now))) return false
      await notices.credentialChanged(tx, { portal, id: accountId }, 'BACKUP_CODE_USED', facts, now)
      return true
    }
    return spendCode(tx, owner.code, codeDigest(digest, owner.code, code), now)
  }
}
