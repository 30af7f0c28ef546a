import * as z from 'zod'
import { oneTimeCode } from '../../contract/account-fields.ts'
import { coded, codeOf, id, timestamp } from '../../contract/fields.ts'
import { everyPortal, own } from '../../contract/policies.ts'
import { type CodeOf, codedFamily, operation } from '../../kernel/index.ts'
import { AssertionCredential, RequestOptions } from '../webauthn/contract.ts'

export const summary = 'Second factors, backup codes, and step-up verification.'

export const mfaMethod = codedFamily('mfaMethod', {
  EMAIL: 10011001,
  OTP: 10011002,
  BACKUP_CODE: 10011005,
  PASSKEY: 10011006,
})
export type MfaMethod = CodeOf<typeof mfaMethod>

/** The proof of a factor in a request: a passkey, or a code for any other method. */
export const factorFields = {
  mfaMethod: codeOf(mfaMethod),
  code: oneTimeCode.optional().meta({ description: 'Required unless `mfaMethod` is `PASSKEY`.' }),
  /** Required if `mfaMethod` is PASSKEY. */
  passkey: AssertionCredential.optional(),
}

export interface FactorFields {
  mfaMethod?: MfaMethod | undefined
  code?: string | undefined
  passkey?: AssertionCredential | undefined
}

/** Whether there is a code if and only if the method has codes. */
export function hasCode({ mfaMethod: method, code }: FactorFields): boolean {
  return (code !== undefined) === (method !== undefined && method !== 'PASSKEY')
}

/** Whether there is a passkey if and only if the method is PASSKEY. */
export function hasPasskey({ mfaMethod: method, passkey }: FactorFields): boolean {
  return (passkey !== undefined) === (method === 'PASSKEY')
}

export const DeliveredMethod = codeOf(mfaMethod).extract(['EMAIL']).meta({ title: 'DeliveredMfaMethod' })

export const CodeDelivery = z.object({
  mfaMethod: coded(mfaMethod),
  maskedDestination: z.string(),
  expiresIn: z.int(),
  resendAfter: z.int(),
  attemptsRemaining: z.int(),
})

const MfaEntry = z.object({
  mfaMethod: coded(mfaMethod),
  isEnabled: z.boolean(),
  isPrimary: z.boolean(),
  verifiedAt: timestamp.nullable(),
})

const BackupCodeStatus = z.object({ remainingCount: z.int(), totalGenerated: z.int() })
const BackupCodes = BackupCodeStatus.extend({ codes: z.array(z.string()), generatedAt: timestamp })

const OtpSetup = z.object({
  secret: z.string(),
  qrCodeUri: z.string(),
  issuer: z.string(),
  accountName: z.string(),
})

const fieldName = /^\w{1,64}$/

/**
 * The command that a step-up confirms: the operation, its workspace, and the fields in the operation's `confirms` with
 * the values of the command. The schemas of the operation check the fields.
 */
export const StepUpPurpose = z
  .object({ operationId: z.string().max(100), workspaceBizId: id.optional() })
  .catchall(z.unknown())
  .refine((purpose) => Object.keys(purpose).every((name) => fieldName.test(name)))
  .meta({
    propertyNames: { pattern: fieldName.source },
    title: 'StepUpPurpose',
    description:
      'The command that the step-up confirms. Besides the operation and its workspace (default: the default workspace), ' +
      'it has the fields in `confirms` of the operation’s `x-portico`, with the values of the command.',
  })
export type StepUpPurpose = z.output<typeof StepUpPurpose>

const get = { method: 'GET', chains: everyPortal, policy: own, body: 'none', refuses: [] } as const
const post = { method: 'POST', chains: everyPortal } as const

const verification = { ...own, rate: 'login' } as const

export const listMfaMethods = operation({
  ...get,
  id: 'mfa.list',
  path: '/security/mfa',
  summary: 'List the second factors of the account',
  reply: z.array(MfaEntry),
})

export const readBackupCodeStatus = operation({
  ...get,
  id: 'mfa.backupCodeStatus',
  path: '/security/mfa/backup-codes',
  summary: 'Get the number of unused backup codes',
  reply: BackupCodeStatus,
})

export const generateBackupCodes = operation({
  ...post,
  id: 'mfa.generateBackupCodes',
  path: '/security/mfa/backup-codes/generate',
  summary: 'Generate backup codes and invalidate the previous set',
  policy: { ...own, stepUp: true },
  body: 'none',
  reply: BackupCodes,
  refuses: [],
})

export const setupOtp = operation({
  ...post,
  id: 'mfa.otpSetup',
  path: '/security/mfa/otp/setup',
  summary: 'Create a secret for an authenticator app',
  policy: { ...own, stepUp: true },
  body: 'none',
  reply: OtpSetup,
  refuses: [],
})

export const verifyOtp = operation({
  ...post,
  id: 'mfa.otpVerify',
  path: '/security/mfa/otp/verify',
  summary: 'Activate the authenticator with its first code',
  policy: verification,
  body: z.strictObject({ code: oneTimeCode }),
  reply: MfaEntry,
  refuses: ['AUTH.CODE_INVALID', 'STATE.CONFLICT'],
})

/** Without a body, requires a recent step-up. */
export const revokeOtp = operation({
  ...post,
  id: 'mfa.otpRevoke',
  path: '/security/mfa/otp/revoke',
  summary: 'Remove the authenticator',
  policy: { ...verification, stepUp: 'maybe' },
  body: z.strictObject({ code: oneTimeCode.optional() }).optional(),
  reply: MfaEntry,
  refuses: ['AUTH.AUTHENTICATOR_REQUIRED', 'AUTH.CODE_INVALID', 'STATE.CONFLICT'],
})

/** A purpose is refused like the command that it names. */
const purposeRefusals = ['ACCESS.PERMISSION_DENIED', 'RESOURCE.NOT_FOUND', 'WORKSPACE.NOT_ACTIVE'] as const

export const sendStepUpCode = operation({
  ...post,
  id: 'mfa.stepUpSend',
  path: '/security/step-up/send',
  summary: 'Mail a code for a step-up',
  policy: { ...own, rate: 'mfaSend' },
  body: z.strictObject({ mfaMethod: DeliveredMethod, purpose: StepUpPurpose.optional() }),
  reply: CodeDelivery,
  refuses: [...purposeRefusals, 'AUTH.MFA_METHOD_NOT_ALLOWED', 'ACCESS.PASSKEY_REQUIRED'],
})

export const createStepUpPasskeyOptions = operation({
  ...post,
  id: 'mfa.stepUpPasskeyOptions',
  path: '/security/step-up/passkey',
  summary: 'Start a step-up with a passkey',
  description:
    'The reply is for `navigator.credentials.get`. Its challenge is derived from the purpose, so that the signature ' +
    'confirms exactly this command. `POST /security/step-up` needs the same purpose.',
  policy: verification,
  body: z.strictObject({ purpose: StepUpPurpose.optional() }).optional(),
  reply: RequestOptions,
  refuses: [
    ...purposeRefusals,
    'AUTH.PASSKEYS_NOT_AVAILABLE',
    'AUTH.MFA_METHOD_NOT_ALLOWED',
    'ACCESS.PASSKEY_REQUIRED',
  ],
})

export const stepUp = operation({
  ...post,
  id: 'mfa.stepUp',
  path: '/security/step-up',
  emits: ['session.ended'],
  summary: 'Verify a second factor again',
  policy: verification,
  body: z
    .strictObject({ ...factorFields, purpose: StepUpPurpose.optional() })
    .refine(hasCode, { path: ['code'] })
    .refine(hasPasskey, { path: ['passkey'] }),
  reply: z.object({ success: z.boolean(), expiresIn: z.int() }),
  refuses: [
    ...purposeRefusals,
    'AUTH.CODE_INVALID',
    'AUTH.PASSKEY_INVALID',
    'AUTH.MFA_METHOD_NOT_ALLOWED',
    'ACCESS.PASSKEY_REQUIRED',
  ],
})
