import { ticketParameter } from '../../contract/policies.ts'
import {
  type Caller,
  createHandlerTable,
  type HandlerTable,
  invalid,
  Refusal,
  type RequestContext,
  withSessionCookie,
} from '../../kernel/index.ts'
import { finishLogin } from '../login/complete.ts'
import { asLaterStep, completionOf } from '../login/handlers.ts'
import { signInByPasskey } from '../login/passkey.ts'
import type { LoginPorts } from '../login/service.ts'
import type { SessionClient, StartedLogin } from '../login/start.ts'
import { asProviderStep, toPendingView } from '../providers/handlers.ts'
import type { ProviderPorts } from '../providers/ports.ts'
import { finishProviderLogin } from '../providers/sign-in.ts'
import { getOpenSession, logout } from '../sessions/service.ts'
import { toOwnSessionView } from '../sessions/view.ts'
import { createTicket } from '../tickets/service.ts'
import * as contract from './contract.ts'

export function browserSessionHandlers(ports: ProviderPorts): HandlerTable {
  const { mfa } = ports.settings
  return createHandlerTable(contract, {
    startBrowserSession: (request) =>
      startWithCookie(ports, request, (client) => finishLogin(ports, completionOf(request.body), request, client)),
    startWithPasskey: (request) =>
      startWithCookie(ports, request, (client) => signInByPasskey(ports, request.body.credential, request, client)),
    startWithProvider: async (request) => {
      const client = cookieClient(request)
      const { started, pending } = await asProviderStep(ports, request, () =>
        finishProviderLogin(ports, request.body, request, client),
      )
      if (started) {
        const { reply, secret } = await replacePrevious(ports, request, started)
        return withSessionCookie({ completed: reply, pending: null }, secret)
      }
      return { completed: null, pending: toPendingView(ports.words, pending, request.locale) }
    },
    readBrowserSession: async (request) => {
      const { caller } = request
      if (!caller) return { signedIn: false }
      const session = await getOpenSession(ports, caller)
      return { signedIn: true, ...toOwnSessionView(session, { ...request, caller }, mfa.stepUpMs) }
    },
    endBrowserSession: async (request) => {
      const { caller } = request
      const terminatedSessions = caller ? await logout(ports, { ...request, caller }) : 0
      return withSessionCookie({ success: true, terminatedSessions }, null)
    },
    createTicket: ({ body: { path }, caller, workspace, locale }) => {
      const operation = ports.findTicketOperation(caller.portal, pathnameOf(path))
      if (!operation) throw invalid('path', 'no operation with a ticket')
      if (operation.policy.workspace === 'required' && !workspace) throw new Refusal('ACCESS.WORKSPACE_REQUIRED')
      return createTicket(ports, caller, {
        operationId: operation.id,
        path,
        workspaceId: workspace?.id ?? null,
        locale,
      })
    },
  })
}

/** Completes a sign-in with `finish`, ends the browser's previous session, and sets the cookie. */
async function startWithCookie(
  ports: LoginPorts,
  request: RequestContext & { caller: Caller | null },
  finish: (client: SessionClient) => Promise<StartedLogin>,
) {
  const started = await asLaterStep(ports, request, () => finish(cookieClient(request)))
  const { reply, secret } = await replacePrevious(ports, request, started)
  return withSessionCookie(reply, secret)
}

function cookieClient({ caller }: { caller: Caller | null }): SessionClient {
  return { kind: 'cookie', replaced: caller?.sessionId ?? null }
}

async function replacePrevious(
  ports: LoginPorts,
  request: RequestContext & { caller: Caller | null },
  { sessionId, isNewDevice, expiresAt, secret }: StartedLogin,
) {
  const { caller } = request
  const expiresIn = Math.floor((expiresAt - ports.clock.now()) / 1_000)
  // The browser no longer has the cookie of its previous session.
  if (caller) await logout(ports, { ...request, caller, operationId: contract.endBrowserSession.id })
  const idleExpiresIn = Math.min(expiresIn, Math.floor(ports.settings.sessions.idleMs / 1_000))
  return { reply: { sessionId, isNewDevice, expiresIn, idleExpiresIn }, secret }
}

/** Throws VALIDATION.INVALID_PARAMETER for a path that a browser would send in another form, or to another host. */
function pathnameOf(path: string): string {
  const url = URL.parse(path, 'http://gateway')
  if (!url || url.pathname + url.search !== path || url.searchParams.has(ticketParameter)) throw invalid('path')
  return url.pathname
}
