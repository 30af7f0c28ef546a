import * as z from 'zod'
import { bizId, Link } from '../../contract/fields.ts'
import { anonymous, everyPortal, own } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'
import { completeLogin, completeProviderLogin, logout, PendingProviderLogin, verifyPasskey } from '../login/contract.ts'
import { OwnSession } from '../sessions/contract.ts'

export const summary = 'Sessions of browsers in an HttpOnly cookie, so that no token reaches the page.'

const path = '/auth/browser-session'

const StartedBrowserSession = z.object({
  sessionId: bizId,
  isNewDevice: z.boolean(),
  expiresIn: z.int().meta({ description: 'Seconds until the session ends in any case.' }),
  idleExpiresIn: z.int().meta({ description: 'Seconds until the session ends without further requests.' }),
})

export const startBrowserSession = operation({
  ...completeLogin,
  id: 'browserSessions.start',
  path,
  summary: 'Complete a sign-in and set the session cookie',
  description:
    'The body is that of `POST /auth/login/complete`. The page must come from the origin of `publicUrl` or from one of ' +
    '`portals.<portal>.origins`.',
  startsBrowserSession: true,
  reply: StartedBrowserSession,
})

export const startWithProvider = operation({
  ...completeProviderLogin,
  id: 'browserSessions.startWithProvider',
  path: `${path}/provider`,
  summary: 'Complete a sign-in with a provider and set the session cookie',
  description:
    'The body is that of `POST /auth/provider/complete`. The page must come from the origin of `publicUrl` or from one of ' +
    '`portals.<portal>.origins`.',
  startsBrowserSession: true,
  reply: z.object({ completed: StartedBrowserSession.nullable(), pending: PendingProviderLogin }),
})

export const startWithPasskey = operation({
  ...verifyPasskey,
  id: 'browserSessions.startWithPasskey',
  path: `${path}/passkey`,
  summary: 'Sign in with a passkey and set the session cookie',
  description:
    'The body is that of `POST /auth/passkey/verify`. The page must come from the origin of `publicUrl` or from one of ' +
    '`portals.<portal>.origins`.',
  startsBrowserSession: true,
  reply: startBrowserSession.reply,
})

const optional = { chains: everyPortal, body: 'none', describesCaller: true, refuses: [] } as const

export const readBrowserSession = operation({
  ...optional,
  id: 'browserSessions.read',
  method: 'GET',
  path,
  summary: 'Get whether the browser is signed in, and its session',
  description: 'Does not count as activity, so it does not prolong the session.',
  policy: { ...anonymous, workspace: 'optional' },
  reply: OwnSession.partial().extend({
    signedIn: z.boolean().meta({ description: 'The other fields are present only if it is true.' }),
  }),
})

export const endBrowserSession = operation({
  ...optional,
  id: 'browserSessions.end',
  method: 'POST',
  path: `${path}/end`,
  emits: logout.emits,
  summary: 'End the session of the browser and delete its cookie',
  policy: anonymous,
  reply: logout.reply,
})

export const createTicket = operation({
  id: 'browserSessions.ticket',
  method: 'POST',
  path: `${path}/ticket`,
  chains: everyPortal,
  summary: 'Create a one-time URL of an event stream or download',
  description:
    'The URL needs the session cookie, but no header. It opens the path once, in the workspace of `X-Workspace-Id` and the ' +
    'language of `X-LOCALE`.',
  policy: { ...own, workspace: 'optional' },
  describesCaller: true,
  body: z.strictObject({
    path: z
      .string()
      .max(2_048)
      .regex(/^\/web\/v1\//)
      .meta({
        description: 'The path of a GET operation whose reply is an event stream or a download, with its query.',
        examples: ['/web/v1/consumer/files/01981f2e-7a3c-7b60-9d7e-3f8d2c5a1b4e/download'],
      }),
  }),
  reply: Link,
  refuses: [],
})
