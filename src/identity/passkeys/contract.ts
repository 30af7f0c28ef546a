import * as z from 'zod'
import { bizId, id, line, opaque, timestamp } from '../../contract/fields.ts'
import { everyPortal, own } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'
import { CreationOptions, RegistrationCredential } from '../webauthn/contract.ts'

export const summary = 'Passkeys (WebAuthn) of an account, for sign-ins and step-ups.'

export const passkeyName = line(64).meta({ description: 'The name that people see in the list of their passkeys.' })

export const Passkey = z.object({
  passkeyBizId: bizId,
  credentialId: z.string().meta({ description: 'For `PublicKeyCredential.signalAllAcceptedCredentials`.' }),
  name: z.string(),
  deviceType: z.enum(['SINGLE_DEVICE', 'MULTI_DEVICE']).meta({
    description: 'A `MULTI_DEVICE` passkey can be synchronized between devices.',
  }),
  backedUp: z.boolean(),
  transports: z.array(z.string()).meta({ description: 'How the browser can reach the authenticator.' }),
  aaguid: z.string().meta({ description: 'The model of the authenticator. Zeros if it is unknown.' }),
  createdAt: timestamp,
  lastUsedAt: timestamp.nullable(),
  suspendedAt: timestamp.nullable().meta({
    description: 'When a copy of the passkey was noticed. A suspended passkey is not accepted.',
  }),
})

const post = { method: 'POST', chains: everyPortal } as const

export const listPasskeys = operation({
  method: 'GET',
  chains: everyPortal,
  id: 'passkeys.list',
  path: '/security/passkeys',
  summary: 'List the passkeys of the account',
  policy: own,
  body: 'none',
  reply: z.array(Passkey),
  refuses: [],
})

export const createPasskeyOptions = operation({
  ...post,
  id: 'passkeys.options',
  path: '/security/passkeys/options',
  summary: 'Start the registration of a passkey',
  description:
    'The reply is for `navigator.credentials.create`. Its challenge expires after five minutes, and only this session can ' +
    'use it, once.',
  policy: { ...own, stepUp: true },
  body: z
    .strictObject({
      enrollmentToken: opaque(128).optional().meta({
        description:
          'For the first passkey of an operator who needs one, see `mfa.required`. `portico operator passkey` prints it.',
      }),
    })
    .optional(),
  reply: CreationOptions,
  refuses: ['AUTH.PASSKEYS_NOT_AVAILABLE', 'ACCESS.PASSKEY_REQUIRED', 'STATE.CONFLICT'],
})

export const registerPasskey = operation({
  ...post,
  id: 'passkeys.register',
  path: '/security/passkeys',
  summary: 'Register a passkey',
  policy: { ...own, rate: 'login' },
  body: z.strictObject({ name: passkeyName.optional(), credential: RegistrationCredential }),
  reply: Passkey,
  refuses: ['AUTH.PASSKEYS_NOT_AVAILABLE', 'AUTH.PASSKEY_INVALID', 'ACCESS.PASSKEY_REQUIRED', 'STATE.CONFLICT'],
})

export const renamePasskey = operation({
  ...post,
  id: 'passkeys.rename',
  path: '/security/passkeys/rename',
  summary: 'Rename a passkey',
  policy: own,
  body: z.strictObject({ passkeyBizId: id, name: passkeyName }),
  reply: Passkey,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const deletePasskey = operation({
  ...post,
  id: 'passkeys.delete',
  path: '/security/passkeys/delete',
  emits: ['session.ended'],
  summary: 'Delete a passkey',
  policy: { ...own, stepUp: true },
  confirms: ['passkeyBizId'],
  body: z.strictObject({ passkeyBizId: id }),
  description:
    'A page can pass `rpId` and `credentialId` to `PublicKeyCredential.signalUnknownCredential`, so that the browser no ' +
    'longer offers the passkey. `rpId` is null if the portal no longer has passkeys. Other sessions that were started with ' +
    'a passkey end.',
  reply: z.object({ success: z.boolean(), credentialId: z.string(), rpId: z.string().nullable() }),
  refuses: ['RESOURCE.NOT_FOUND', 'AUTH.AUTHENTICATOR_REQUIRED', 'ACCESS.PASSKEY_REQUIRED'],
})
