import * as z from 'zod'
import { accountEmail, newPassword, password, suspendedCredentials } from '../../contract/account-fields.ts'
import { recovered } from '../../contract/events/caused.ts'
import { coded, codeOf, opaque, timestamp } from '../../contract/fields.ts'
import { anonymous, everyPortal, own } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'
import { factorFields, hasCode, hasPasskey, mfaMethod } from '../mfa/contract.ts'

export const summary = 'Recovery by mailed links, and password change.'

/** Empty if the deployment does not use Turnstile. */
export const turnstileToken = z.string().max(4_096)

const NewPassword = z.strictObject({ token: opaque(512), newPassword })

/** Accounts with an older authenticator or passkey need a second factor. `auth.passkeyOptions` has the options. */
const ResetPassword = NewPassword.extend({
  mfaMethod: codeOf(mfaMethod).exclude(['EMAIL']).meta({ title: 'RecoveryMfaMethod' }).optional(),
  code: factorFields.code,
  passkey: factorFields.passkey,
})
  .refine(hasCode, { path: ['code'] })
  .refine(hasPasskey, { path: ['passkey'] })

const PasswordSet = z.object({ success: z.boolean() })
const SessionsEnded = PasswordSet.extend({ terminatedSessions: z.int() })

const post = { method: 'POST', chains: everyPortal } as const

export const forgotPassword = operation({
  ...post,
  id: 'password.forgot',
  path: '/auth/password/forgot',
  summary: 'Request a link to reset the password',
  policy: { ...anonymous, rate: 'forgot' },
  body: z.strictObject({ email: accountEmail, turnstileToken }),
  reply: z.object({ success: z.boolean(), message: z.string() }),
  refuses: [],
})

export const resetPassword = operation({
  ...post,
  id: 'password.reset',
  path: '/auth/password/reset',
  emits: recovered,
  summary: 'Reset the password and end all sessions',
  policy: { ...anonymous, rate: 'password', changesRights: true },
  body: ResetPassword,
  reply: SessionsEnded,
  refuses: ['AUTH.SESSION_NOT_FOUND', 'ACCESS.STEP_UP_REQUIRED', 'AUTH.CODE_INVALID', 'AUTH.PASSKEY_INVALID'],
})

export const initPassword = operation({
  ...post,
  id: 'password.init',
  path: '/auth/password/init',
  summary: 'Set the first password of a new account',
  policy: { ...anonymous, rate: 'password' },
  body: NewPassword,
  reply: PasswordSet,
  refuses: ['AUTH.SESSION_NOT_FOUND'],
})

/** The token is in the email about a new factor. */
export const undoFactors = operation({
  ...post,
  id: 'password.undoFactors',
  path: '/auth/factors/undo',
  emits: recovered,
  summary: 'Remove new second factors and end all sessions',
  policy: { ...anonymous, rate: 'password', changesRights: true },
  body: z.strictObject({ token: opaque(512) }),
  reply: SessionsEnded.extend({
    removedFactors: z
      .array(coded(mfaMethod))
      .meta({ description: 'The removed factors: those that the account got within the last days.' }),
    suspendedCredentials,
  }),
  refuses: ['AUTH.SESSION_NOT_FOUND'],
})

export const changePassword = operation({
  ...post,
  id: 'password.change',
  path: '/auth/password/change',
  emits: recovered,
  summary: 'Change the password and end all other sessions',
  policy: { ...own, rate: 'password', stepUp: true, changesRights: true },
  body: z.strictObject({
    currentPassword: password,
    newPassword,
    suspendCredentials: z.boolean().optional().meta({
      description:
        'Whether to suspend what the account created, as a reset does: API keys, invitations, and recent payout accounts, members and role permissions',
    }),
  }),
  reply: SessionsEnded.extend({
    passwordChangedAt: timestamp,
    suspendedCredentials: suspendedCredentials
      .optional()
      .meta({ description: 'Present if `suspendCredentials` was true' }),
  }),
  refuses: ['AUTH.INVALID_CREDENTIALS'],
})
