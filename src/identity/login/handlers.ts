import { accountStatus, createHandlerTable, type HandlerTable, type Locale, type Words } from '../../kernel/index.ts'
import { assertEmailAccepted } from '../accounts/service.ts'
import { toMethodView } from '../mfa/view.ts'
import { refreshTokens } from '../sessions/refresh.ts'
import { logout } from '../sessions/service.ts'
import { completeLogin } from './complete.ts'
import * as contract from './contract.ts'
import {
  type InitiatedLogin,
  initiateLogin,
  type LoginPorts,
  placeOf,
  placeOfFirstStep,
  sendLoginCode,
} from './service.ts'

export function loginHandlers(ports: LoginPorts): HandlerTable {
  const { concurrency, words } = ports
  return createHandlerTable(contract, {
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
    completeLogin: async (request) => {
      const { sessionId, mfaMethod: method, code } = request.body
      const complete = () => completeLogin(ports, { sessionId, method, code }, request)
      const completed = await concurrency.laterSteps.runLimited(complete, placeOf(ports, request))
      ports.networks.add(request.clientIp)
      return { ...completed, tokenType: 'Bearer' }
    },
    refreshToken: (request) => refreshTokens(ports, request.body.refreshToken, request),
    logout: async (request) => ({ success: true, terminatedSessions: await logout(ports, request) }),
  })
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
