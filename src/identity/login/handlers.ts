import type { z } from 'zod'
import {
  accountStatus,
  createHandlerTable,
  type HandlersOf,
  type HandlerTable,
  type Locale,
  type RequestContext,
  type Words,
  withSessionCookie,
} from '../../kernel/index.ts'
import { assertEmailAccepted } from '../accounts/service.ts'
import { toPresentedFactor } from '../mfa/presented.ts'
import { toMethodView } from '../mfa/view.ts'
import { refreshTokens } from '../sessions/refresh.ts'
import { logout } from '../sessions/service.ts'
import { completeLogin, type LoginCompletion } from './complete.ts'
import * as contract from './contract.ts'
import { completeByPasskey, createSignInOptions } from './passkey.ts'
import {
  type InitiatedLogin,
  initiateLogin,
  type LoginPorts,
  placeOf,
  placeOfFirstStep,
  sendLoginCode,
} from './service.ts'

/** The folder providers implements them. */
export type ProviderLoginHandlers = Pick<
  HandlersOf<typeof contract>,
  'listProviders' | 'initiateProviderLogin' | 'completeProviderLogin'
>

export function loginHandlers(ports: LoginPorts, ofProviders: ProviderLoginHandlers): HandlerTable {
  const { concurrency, words } = ports
  return createHandlerTable(contract, {
    ...ofProviders,
    initiateLogin: async (request) => {
      assertEmailAccepted(ports.settings, request.body.email)
      const initiated = await concurrency.firstStep.runLimited(
        () => initiateLogin(ports, request.body, request),
        placeOfFirstStep(ports, request.body.email, request),
      )
      return toInitiatedLoginView(words, initiated, request.locale)
    },
    sendLoginCode: async (request) => {
      const { sessionId, mfaMethod: method } = request.body
      const sent = await sendLoginCode(ports, { sessionId, method }, request)
      return { mfaMethod: toMethodView(words, method, request.locale), ...sent }
    },
    completeLogin: (request) =>
      asLaterStep(ports, request, () => completeLogin(ports, completionOf(request.body), request)),
    createPasskeyRequest: (request) =>
      concurrency.laterSteps.runLimited(
        () => createSignInOptions(ports, request.body?.sessionId, request),
        placeOf(ports, request),
      ),
    verifyPasskey: (request) =>
      asLaterStep(ports, request, () => completeByPasskey(ports, request.body.credential, request)),
    refreshToken: (request) => refreshTokens(ports, request.body.refreshToken, request),
    logout: async (request) =>
      withSessionCookie({ success: true, terminatedSessions: await logout(ports, request) }, null),
  })
}

/** Queues the last step of a sign-in. Its network is served first from then on. */
export async function asLaterStep<T>(ports: LoginPorts, context: RequestContext, work: () => Promise<T>): Promise<T> {
  const result = await ports.concurrency.laterSteps.runLimited(work, placeOf(ports, context))
  ports.networks.add(context.clientIp)
  return result
}

export function completionOf(body: z.output<typeof contract.completeLogin.body>): LoginCompletion {
  return { sessionId: body.sessionId, ...toPresentedFactor(body) }
}

function toInitiatedLoginView(
  words: Words,
  { sessionId, methods, expiresIn, accountStatus: status }: InitiatedLogin,
  locale: Locale,
) {
  return {
    sessionId,
    mfaMethods: methods.map((method) => toMethodView(words, method, locale)),
    expiresIn,
    accountStatus: status && words.coded(accountStatus, status, locale),
    pendingApproval: status === 'PENDING_APPROVAL',
  }
}
