import * as z from 'zod'
import { timestamp } from '../../contract/fields.ts'
import { everyPortal, own } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'
import {
  ProviderReply,
  providedRights,
  providerId,
  providerRefusals,
  returnTo,
  StartedProviderAttempt,
} from '../login/contract.ts'
import { StepUpPurpose, stepUp } from '../mfa/contract.ts'

export const summary = 'Accounts at identity providers, with which a person signs in and confirms commands.'

const LinkedProvider = z.object({
  providerId: z.string(),
  name: z.string(),
  linkedAt: timestamp.nullable().meta({ description: 'Null until a person whom SCIM provisioned signs in.' }),
  lastSignInAt: timestamp.nullable(),
})

const post = { method: 'POST', chains: everyPortal } as const

export const listLinkedProviders = operation({
  id: 'providers.list',
  method: 'GET',
  chains: everyPortal,
  path: '/security/providers',
  summary: 'List the identity providers of the account',
  policy: own,
  body: 'none',
  reply: z.array(LinkedProvider),
  refuses: [],
})

export const initiateProviderLink = operation({
  ...post,
  id: 'providers.linkInitiate',
  path: '/security/providers/link/initiate',
  summary: 'Start to link the account to an identity provider',
  policy: { ...own, stepUp: true, rate: 'login' },
  body: z.strictObject({ providerId, returnTo }),
  reply: StartedProviderAttempt,
  refuses: ['AUTH.PROVIDER_UNAVAILABLE', 'STATE.CONFLICT'],
})

export const linkProvider = operation({
  ...post,
  id: 'providers.link',
  path: '/security/providers/link',
  summary: 'Link the account to an identity provider',
  policy: { ...own, rate: 'login' },
  body: ProviderReply,
  emits: [...providedRights],
  reply: LinkedProvider,
  refuses: [...providerRefusals, 'STATE.CONFLICT'],
})

export const unlinkProvider = operation({
  ...post,
  id: 'providers.unlink',
  path: '/security/providers/unlink',
  emits: ['session.ended', ...providedRights],
  summary: 'Unlink the account from an identity provider',
  description:
    'Ends the other sessions. An operator loses the permissions if the groups of the provider decide over them.',
  policy: { ...own, stepUp: true },
  body: z.strictObject({ providerId }),
  reply: z.object({ success: z.boolean(), terminatedSessions: z.int() }),
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
})

export const logoutAtProvider = operation({
  ...post,
  id: 'providers.logout',
  path: '/security/providers/logout',
  emits: ['session.ended'],
  summary: 'Sign out of the current session and get the sign-out page of the provider',
  policy: own,
  body: 'none',
  reply: z.object({
    success: z.boolean(),
    terminatedSessions: z.int(),
    endSessionUrl: z.string().nullable().meta({
      description:
        'The page of the provider that ends the session there. Null if no provider started the session, or if it has no such page.',
    }),
  }),
  refuses: [],
})

export const initiateProviderStepUp = operation({
  ...post,
  id: 'providers.stepUpInitiate',
  path: '/security/step-up/provider/initiate',
  summary: 'Start a step-up by a fresh sign-in at the identity provider',
  policy: { ...own, rate: 'login' },
  body: z.strictObject({ providerId, returnTo, purpose: StepUpPurpose.optional() }),
  reply: StartedProviderAttempt,
  refuses: [
    ...(['ACCESS.PERMISSION_DENIED', 'RESOURCE.NOT_FOUND', 'WORKSPACE.NOT_ACTIVE'] as const),
    ...(['ACCESS.PASSKEY_REQUIRED', 'AUTH.MFA_METHOD_NOT_ALLOWED', 'AUTH.PROVIDER_UNAVAILABLE'] as const),
  ],
})

export const stepUpAtProvider = operation({
  ...post,
  id: 'providers.stepUp',
  path: '/security/step-up/provider',
  summary: 'Complete a step-up by a fresh sign-in at the identity provider',
  policy: { ...own, rate: 'login' },
  body: ProviderReply,
  reply: stepUp.reply,
  refuses: [...providerRefusals, 'ACCESS.PASSKEY_REQUIRED'],
})
