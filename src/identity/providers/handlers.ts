import {
  createHandlerTable,
  type HandlerTable,
  type Locale,
  type Portal,
  type RequestContext,
  toIsoOrNull,
  type Words,
  withSessionCookie,
} from '../../kernel/index.ts'
import type { ProviderLoginHandlers } from '../login/handlers.ts'
import { placeOf } from '../login/service.ts'
import { issueTokens } from '../login/start.ts'
import { toMethodView } from '../mfa/view.ts'
import { startAttempt } from './attempts/service.ts'
import * as contract from './contract.ts'
import { link, startLink, unlink } from './links.ts'
import { logoutAtProvider } from './logout.ts'
import type { ProviderPorts } from './ports.ts'
import { finishProviderLogin, type PendingFactor } from './sign-in.ts'
import { finishProviderStepUp, startProviderStepUp } from './step-up.ts'
import { identitiesOf, type LinkedIdentity } from './store.ts'

export function providerHandlers(ports: ProviderPorts): HandlerTable {
  const { database } = ports
  return createHandlerTable(contract, {
    listLinkedProviders: async ({ caller: { portal, accountId } }) =>
      (await identitiesOf(database, portal, accountId)).map((identity) => toLinkedView(ports, portal, identity)),
    initiateProviderLink: (request) =>
      startLink(ports, { providerId: request.body.providerId, returnTo: request.body.returnTo }, request),
    linkProvider: async (request) =>
      toLinkedView(ports, request.caller.portal, await link(ports, request.body, request)),
    unlinkProvider: async (request) => ({
      success: true,
      terminatedSessions: await unlink(ports, request.body.providerId, request),
    }),
    logoutAtProvider: async (request) =>
      withSessionCookie({ success: true, ...(await logoutAtProvider(ports, request)) }, null),
    initiateProviderStepUp: (request) => {
      const { providerId, returnTo, purpose } = request.body
      return startProviderStepUp(ports, { providerId, returnTo, purpose }, request)
    },
    stepUpAtProvider: async (request) => {
      const cookie = await finishProviderStepUp(ports, request.body, request)
      const reply = { success: true, expiresIn: Math.floor(ports.settings.mfa.stepUpMs / 1_000) }
      return withSessionCookie(reply, cookie)
    },
  })
}

/** The operations below `/auth`. A slow provider must not use up the places of other sign-ins. */
export function providerLoginHandlers(ports: ProviderPorts): ProviderLoginHandlers {
  return {
    listProviders: async ({ portal }) =>
      ports.providers.of(portal).map(({ settings: { id: providerId, name } }) => ({ providerId, name })),
    initiateProviderLogin: (request) => {
      const { providerId, returnTo } = request.body
      return ports.concurrency.providerSteps.runLimited(
        () => startAttempt(ports, { kind: 'SIGN_IN', providerId, returnTo, session: null }, request),
        placeOf(ports, request),
      )
    },
    completeProviderLogin: async (request) => {
      const { started, pending } = await asProviderStep(ports, request, () =>
        finishProviderLogin(ports, request.body, request, { kind: 'tokens', replaced: null }),
      )
      const completed = started && (await issueTokens(ports, started, request))
      return { completed, pending: toPendingView(ports.words, pending, request.locale) }
    },
  }
}

/** Queues the exchange with a provider. Its network is served first from then on. */
export async function asProviderStep<T>(
  ports: ProviderPorts,
  context: RequestContext,
  work: () => Promise<T>,
): Promise<T> {
  const result = await ports.concurrency.providerSteps.runLimited(work, placeOf(ports, context))
  ports.networks.add(context.clientIp)
  return result
}

export function toPendingView(words: Words, pending: PendingFactor | null, locale: Locale) {
  if (!pending) return null
  const { sessionId, methods, expiresIn } = pending
  return { sessionId, mfaMethods: methods.map((method) => toMethodView(words, method, locale)), expiresIn }
}

function toLinkedView({ providers }: ProviderPorts, portal: Portal, identity: LinkedIdentity) {
  const { providerId, linkedAt, lastSignInAt } = identity
  const name = providers.known(portal, providerId)?.settings.name ?? providerId
  return { providerId, name, linkedAt: toIsoOrNull(linkedAt), lastSignInAt: toIsoOrNull(lastSignInAt) }
}
