import * as z from 'zod'
import { accountEmail, password } from '../../contract/account-fields.ts'
import { opened } from '../../contract/events/caused.ts'
import { bizId, coded, opaque, sessionId } from '../../contract/fields.ts'
import { anonymous, everyPortal, own } from '../../contract/policies.ts'
import { accountStatus, operation } from '../../kernel/index.ts'
import { CodeDelivery, DeliveredMethod, factorFields, hasCode, hasPasskey, mfaMethod } from '../mfa/contract.ts'
import { AssertionCredential, RequestOptions } from '../webauthn/contract.ts'

export const summary = 'Sign-in with a password and a second factor, token refresh, and sign-out.'

export const codes = {
  'AUTH.INVALID_CREDENTIALS': { status: 401 },
  'AUTH.CODE_INVALID': { status: 401 },
  'AUTH.PASSKEY_INVALID': { status: 401 },
  'AUTH.CLIENT_MISMATCH': { status: 401 },
  'AUTH.PENDING_APPROVAL': { status: 403 },
  'AUTH.MFA_METHOD_NOT_ALLOWED': { status: 403 },
  'AUTH.AUTHENTICATOR_REQUIRED': { status: 403 },
  'AUTH.PASSKEYS_NOT_AVAILABLE': { status: 403 },
  'AUTH.SESSION_NOT_FOUND': { status: 404 },
  'AUTH.PROVIDER_REFUSED': { status: 401 },
  'AUTH.PROVIDER_NOT_LINKED': { status: 403 },
  'AUTH.PROVIDER_UNAVAILABLE': { status: 503 },
} as const

declare module '../../kernel/codes.ts' {
  interface CodesByOwner {
    login: typeof codes
  }
}

const LoginInitiated = z.object({
  sessionId: z.string().nullable(),
  mfaMethods: z.array(coded(mfaMethod)),
  expiresIn: z.int(),
  accountStatus: coded(accountStatus).nullable(),
  pendingApproval: z.boolean(),
})

const TokenPair = z.object({
  accessToken: z.string(),
  refreshToken: z.string(),
  expiresIn: z.int(),
})

const LoginCompleted = TokenPair.extend({
  tokenType: z.enum(['Bearer', 'DPoP']).meta({ description: 'DPoP if the request had a DPoP proof (RFC 9449)' }),
  refreshExpiresIn: z.int(),
  sessionId: bizId,
  isNewDevice: z.boolean(),
})

export const providerId = z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/)

export const returnTo = z
  .string()
  .max(2_048)
  .optional()
  .meta({
    description:
      'The page to which the provider leads the browser: `links.providerCallback`, the default, or one of the provider’s ' +
      '`returnTo`. It gets the reply in the fragment of its URL.',
  })

/** The parameters in the fragment of the callback page, and the session id of the request that led there. */
export const ProviderReply = z.strictObject({
  sessionId,
  code: opaque(4_096),
  state: opaque(512),
  iss: z.string().max(2_048).optional(),
})

export const StartedProviderAttempt = z.object({
  authorizationUrl: z.string().meta({ description: 'The page of the provider to which the browser goes.' }),
  sessionId: z.string().meta({
    description: 'Keep it in the browser, for example in `sessionStorage`, until the provider leads it back.',
  }),
  expiresIn: z.int(),
})

export const providerRefusals = [
  'AUTH.SESSION_NOT_FOUND',
  'AUTH.PROVIDER_REFUSED',
  'AUTH.PROVIDER_UNAVAILABLE',
] as const

/** Of a sign-in with a provider whose factor does not count: `auth.loginComplete` or `browserSessions.start` ends it. */
export const PendingProviderLogin = z
  .object({ sessionId: z.string(), mfaMethods: z.array(coded(mfaMethod)), expiresIn: z.int() })
  .nullable()
  .meta({
    description:
      'Null if the person is signed in. Otherwise, a second factor of the account must follow, as after ' +
      '`POST /auth/login/initiate`.',
  })

const post = { method: 'POST', chains: everyPortal } as const

export const initiateLogin = operation({
  ...post,
  id: 'auth.loginInitiate',
  path: '/auth/login/initiate',
  summary: 'Start a sign-in with e-mail and password',
  policy: { ...anonymous, rate: 'login' },
  body: z.strictObject({ email: accountEmail, password }),
  reply: LoginInitiated,
  refuses: ['AUTH.INVALID_CREDENTIALS', 'AUTH.AUTHENTICATOR_REQUIRED'],
})

export const sendLoginCode = operation({
  ...post,
  id: 'auth.mfaSend',
  path: '/auth/login/mfa/send',
  summary: 'Mail a code for a pending sign-in',
  policy: { ...anonymous, rate: 'mfaSend' },
  body: z.strictObject({ sessionId, mfaMethod: DeliveredMethod }),
  reply: CodeDelivery,
  refuses: ['AUTH.SESSION_NOT_FOUND', 'AUTH.CLIENT_MISMATCH', 'AUTH.MFA_METHOD_NOT_ALLOWED'],
})

export const completeLogin = operation({
  ...post,
  id: 'auth.loginComplete',
  path: '/auth/login/complete',
  emits: ['session.started', 'session.ended'],
  summary: 'Complete a sign-in with a second factor',
  policy: anonymous,
  body: z
    .strictObject({ sessionId, ...factorFields })
    .refine(hasCode, { path: ['code'] })
    .refine(hasPasskey, { path: ['passkey'] }),
  reply: LoginCompleted,
  refuses: [
    'AUTH.SESSION_NOT_FOUND',
    'AUTH.CLIENT_MISMATCH',
    'AUTH.CODE_INVALID',
    'AUTH.PASSKEY_INVALID',
    'AUTH.MFA_METHOD_NOT_ALLOWED',
    'AUTH.PENDING_APPROVAL',
    'ACCESS.IP_NOT_ALLOWED',
    'ACCESS.PASSKEY_REQUIRED',
  ],
})

export const createPasskeyRequest = operation({
  ...post,
  id: 'auth.passkeyOptions',
  path: '/auth/passkey/options',
  summary: 'Start a sign-in with a passkey',
  description:
    'The reply is for `navigator.credentials.get`. Without `sessionId`, the browser offers its discoverable passkeys of ' +
    'the portal, and the sign-in needs no password. With the `sessionId` of a pending sign-in, it allows the passkeys of ' +
    'its account. The challenge expires after five minutes, and only this client can use it, once.',
  policy: { ...anonymous, rate: 'passkeyOptions' },
  body: z.strictObject({ sessionId: sessionId.optional() }).optional(),
  reply: RequestOptions,
  refuses: [
    'AUTH.PASSKEYS_NOT_AVAILABLE',
    'AUTH.SESSION_NOT_FOUND',
    'AUTH.CLIENT_MISMATCH',
    'AUTH.MFA_METHOD_NOT_ALLOWED',
    'AUTH.PENDING_APPROVAL',
  ],
})

export const verifyPasskey = operation({
  ...post,
  id: 'auth.passkeyVerify',
  path: '/auth/passkey/verify',
  emits: completeLogin.emits,
  summary: 'Sign in with a passkey',
  description: 'A verified passkey counts as two factors, so the sign-in needs neither a password nor a code.',
  policy: { ...anonymous, rate: 'login' },
  body: z.strictObject({ credential: AssertionCredential }),
  reply: LoginCompleted,
  refuses: ['AUTH.PASSKEYS_NOT_AVAILABLE', 'AUTH.PASSKEY_INVALID', 'AUTH.PENDING_APPROVAL', 'ACCESS.IP_NOT_ALLOWED'],
})

/** The groups of an operator at the provider have changed. */
export const providedRights = [
  ...(['proposal.pending', 'proposal.done', 'proposal.cancelled', 'proposal.expired'] as const),
  'operator.permissions_changed',
] as const

/** The first sign-in of a person without an account. */
const providedAccount = ['account.active', 'account.pending_approval', ...opened] as const

export const listProviders = operation({
  id: 'auth.providers',
  method: 'GET',
  chains: everyPortal,
  path: '/auth/providers',
  summary: 'List the identity providers of the portal',
  policy: anonymous,
  body: 'none',
  reply: z.array(z.object({ providerId: z.string(), name: z.string() })),
  refuses: [],
})

export const initiateProviderLogin = operation({
  ...post,
  id: 'auth.providerInitiate',
  path: '/auth/provider/initiate',
  summary: 'Start a sign-in with an identity provider',
  policy: { ...anonymous, rate: 'login' },
  body: z.strictObject({ providerId, returnTo }),
  reply: StartedProviderAttempt,
  refuses: ['AUTH.PROVIDER_UNAVAILABLE'],
})

export const completeProviderLogin = operation({
  ...post,
  id: 'auth.providerComplete',
  path: '/auth/provider/complete',
  emits: ['session.started', 'session.ended', ...providedAccount, ...providedRights],
  summary: 'Complete a sign-in with an identity provider',
  policy: { ...anonymous, rate: 'login' },
  body: ProviderReply,
  reply: z.object({ completed: LoginCompleted.nullable(), pending: PendingProviderLogin }),
  refuses: [
    ...providerRefusals,
    'AUTH.PROVIDER_NOT_LINKED',
    'AUTH.PENDING_APPROVAL',
    'AUTH.AUTHENTICATOR_REQUIRED',
    'ACCESS.IP_NOT_ALLOWED',
  ],
})

export const refreshToken = operation({
  ...post,
  id: 'auth.refresh',
  path: '/auth/token/refresh',
  emits: ['session.ended'],
  summary: 'Exchange a refresh token for new tokens',
  policy: { ...anonymous, rate: 'refresh' },
  body: z.strictObject({ refreshToken: opaque(4_096) }),
  reply: TokenPair,
  refuses: ['AUTH.SESSION_NOT_FOUND', 'ACCESS.IP_NOT_ALLOWED'],
})

export const logout = operation({
  ...post,
  id: 'auth.logout',
  path: '/auth/logout',
  emits: ['session.ended'],
  summary: 'Sign out of the current session',
  policy: own,
  body: 'none',
  reply: z.object({ success: z.boolean(), terminatedSessions: z.int() }),
  refuses: [],
})
