import {
  createHandlerTable,
  type HandlerTable,
  summarizeSuspended,
  toIso,
  withSessionCookie,
} from '../../kernel/index.ts'
import { toStrongFactor } from '../mfa/presented.ts'
import { factorMethod } from '../mfa/recovery/young.ts'
import { toMethodView } from '../mfa/view.ts'
import * as contract from './contract.ts'
import { setPasswordByToken } from './reset.ts'
import { changePassword, type PasswordPorts, requestPasswordReset } from './service.ts'
import { undoFactors } from './undo.ts'

export function passwordHandlers(ports: PasswordPorts): HandlerTable {
  return createHandlerTable(contract, {
    forgotPassword: async (request) => {
      await requestPasswordReset(ports, request.body, request)
      return { success: true, message: ports.words.text('notice.PASSWORD_FORGOT', request.locale) }
    },
    resetPassword: async (request) => {
      const { mfaMethod: method, token, newPassword } = request.body
      const factor = method === undefined ? null : toStrongFactor(request.body, method)
      const reset = { purpose: 'RESET', token, newPassword, factor } as const
      const terminatedSessions = await setPasswordByToken(ports, reset, request)
      return { success: true, terminatedSessions }
    },
    initPassword: async (request) => {
      await setPasswordByToken(ports, { purpose: 'INIT', ...request.body, factor: null }, request)
      return { success: true }
    },
    undoFactors: async (request) => {
      const { ended, removed, suspended } = await undoFactors(ports, request.body.token, request)
      return {
        success: true,
        terminatedSessions: ended.length,
        removedFactors: removed.map((factor) => toMethodView(ports.words, factorMethod[factor], request.locale)),
        suspendedCredentials: summarizeSuspended(suspended).counts,
      }
    },
    changePassword: async (request) => {
      const { suspendCredentials = false, ...body } = request.body
      const changed = await changePassword(ports, { ...body, suspendCredentials }, request)
      const { ended, suspended, changedAt, cookie } = changed
      const reply = { success: true, terminatedSessions: ended, passwordChangedAt: toIso(changedAt) }
      return withSessionCookie(suspended ? { ...reply, suspendedCredentials: suspended } : reply, cookie)
    },
  })
}
