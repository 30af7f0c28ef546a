import { createHandlerTable, type HandlerTable, withSessionCookie } from '../../kernel/index.ts'
import { finishLogin } from '../login/complete.ts'
import { asLaterStep, completionOf } from '../login/handlers.ts'
import type { LoginPorts } from '../login/service.ts'
import { getOpenSession, logout } from '../sessions/service.ts'
import { toOwnSessionView } from '../sessions/view.ts'
import * as contract from './contract.ts'

export function browserSessionHandlers(ports: LoginPorts): HandlerTable {
  const { mfa, sessions } = ports.settings
  return createHandlerTable(contract, {
    startBrowserSession: async (request) => {
      const finish = () => finishLogin(ports, completionOf(request.body), request, 'cookie')
      const { sessionId, isNewDevice, expiresAt, secret } = await asLaterStep(ports, request, finish)
      const expiresIn = Math.floor((expiresAt - ports.clock.now()) / 1_000)
      const { caller } = request
      // The browser no longer has the cookie of its previous session.
      if (caller) await logout(ports, { ...request, caller, operationId: contract.endBrowserSession.id })
      const idleExpiresIn = Math.min(expiresIn, Math.floor(sessions.idleMs / 1_000))
      return withSessionCookie({ sessionId, isNewDevice, expiresIn, idleExpiresIn }, secret)
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
  })
}
