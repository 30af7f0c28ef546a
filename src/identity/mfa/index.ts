import type { HandlerTable } from '../../kernel/index.ts'
import type { MailQuota } from '../login/mail-quota.ts'
import type { Throttle } from '../login/throttle.ts'
import type { Notices } from '../notices/notices.ts'
import type { IdentityPorts } from '../ports.ts'
import type { Liveness } from '../sessions/liveness.ts'
import type { IdentitySettings } from '../settings.ts'
import { codeTrial } from './attempts.ts'
import { backupCodeGenerator } from './backup-codes.ts'
import { mfaHandlers } from './handlers.ts'
import { otpChanges } from './otp.ts'
import type { FactorProver } from './prove.ts'
import { stepUp, stepUpSender } from './step-up.ts'

export interface MfaParts {
  ports: IdentityPorts
  settings: IdentitySettings
  throttle: Throttle
  quota: MailQuota
  liveness: Liveness
  prove: FactorProver
  notices: Notices
}

/** An account's second factors, and the step-up. */
export const createMfa = ({ ports, settings, throttle, quota, liveness, prove, notices }: MfaParts): HandlerTable => {
  const tryCode = codeTrial(ports, throttle)
  return mfaHandlers({
    database: ports.database,
    words: ports.words,
    generateBackupCodes: backupCodeGenerator(ports, notices),
    otp: otpChanges({ ports, prove, tryCode, notices, settings: settings.mfa }),
    sendStepUpCode: stepUpSender(ports, quota, throttle, settings.login),
    stepUp: stepUp({ ports, prove, tryCode, liveness }),
    stepUpMs: settings.mfa.stepUpMs,
  })
}
