import * as z from 'zod'
import { accountEmail, country, language, oneTimeCode, phone, timezone } from '../../contract/account-fields.ts'
import { opened } from '../../contract/events/caused.ts'
import { bizId, coded, line, opaque, orNone, sessionId } from '../../contract/fields.ts'
import { anonymous } from '../../contract/policies.ts'
import { accountStatus, operation } from '../../kernel/index.ts'
import { Passkey, passkeyName } from '../passkeys/contract.ts'
import { turnstileToken } from '../passwords/contract.ts'
import { CreationOptions, RegistrationCredential } from '../webauthn/contract.ts'

export const summary = 'Self-registration, if the deployment allows it.'

export const codes = {
  'AUTH.REGISTRATION_CLOSED': { status: 403 },
} as const

declare module '../../kernel/codes.ts' {
  interface CodesByOwner {
    registration: typeof codes
  }
}

const step = { method: 'POST', chains: ['consumer'] } as const

export const initiateRegistration = operation({
  ...step,
  id: 'registration.initiate',
  path: '/auth/register/initiate',
  summary: 'Start a registration',
  policy: { ...anonymous, rate: 'registration' },
  body: z.strictObject({ email: accountEmail, turnstileToken }),
  reply: z.object({ sessionId: z.string(), expiresIn: z.int(), resendAfter: z.int() }),
  refuses: ['AUTH.REGISTRATION_CLOSED'],
})

export const verifyRegistrationEmail = operation({
  ...step,
  id: 'registration.verifyEmail',
  path: '/auth/register/verify-email',
  summary: 'Verify the e-mail address of a registration',
  policy: anonymous,
  body: z.strictObject({ sessionId, code: oneTimeCode }),
  reply: z.object({ sessionId: z.string(), emailVerified: z.boolean() }),
  refuses: ['AUTH.REGISTRATION_CLOSED', 'AUTH.SESSION_NOT_FOUND', 'AUTH.CLIENT_MISMATCH', 'AUTH.CODE_INVALID'],
})

export const completeRegistration = operation({
  ...step,
  id: 'registration.complete',
  path: '/auth/register/complete',
  emits: ['account.active', 'account.pending_approval', ...opened],
  summary: 'Create the account, its workspace and its wallets',
  policy: anonymous,
  body: z.strictObject({
    sessionId,
    accountName: line(128),
    accountPhone: orNone(phone),
    defaultLanguage: language.optional(),
    defaultTimezone: timezone.optional(),
    defaultCountry: country.optional(),
  }),
  reply: z.object({
    accountBizId: bizId,
    accountStatus: coded(accountStatus),
    pendingApproval: z.boolean(),
    passwordInitToken: z.string(),
  }),
  refuses: ['AUTH.REGISTRATION_CLOSED', 'AUTH.SESSION_NOT_FOUND', 'AUTH.CLIENT_MISMATCH', 'STATE.CONFLICT'],
})

const token = opaque(128).meta({ description: 'The `passwordInitToken` of `POST /auth/register/complete`.' })
const passkeyRefusals = ['AUTH.PASSKEYS_NOT_AVAILABLE', 'AUTH.SESSION_NOT_FOUND', 'STATE.CONFLICT'] as const

export const createFirstPasskeyOptions = operation({
  ...step,
  id: 'registration.passkeyOptions',
  path: '/auth/register/passkey/options',
  summary: 'Start the registration of a new account’s passkey',
  description:
    'The reply is for `navigator.credentials.create`. Its challenge expires after five minutes, and only this client can ' +
    'use it, once. The token stays valid for `POST /auth/password/init`, which ends it.',
  policy: { ...anonymous, rate: 'login' },
  body: z.strictObject({ token }),
  reply: CreationOptions,
  refuses: [...passkeyRefusals],
})

export const registerFirstPasskey = operation({
  ...step,
  id: 'registration.passkey',
  path: '/auth/register/passkey',
  summary: 'Register the passkey of a new account',
  description: 'A new account can then sign in without a password. The token registers one passkey.',
  policy: { ...anonymous, rate: 'login' },
  body: z.strictObject({ token, name: passkeyName.optional(), credential: RegistrationCredential }),
  reply: Passkey,
  refuses: [...passkeyRefusals, 'AUTH.PASSKEY_INVALID'],
})
