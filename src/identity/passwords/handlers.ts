import { createHandlerTable, type HandlerTable, toIso } from '../../kernel/index.ts'
import * as contract from './contract.ts'
import { setPasswordByToken } from './reset.ts'
import { changePassword, type PasswordPorts, requestPasswordReset } from './service.ts'

/** Handlers for the recovery and change of passwords. */
export const passwordHandlers = (ports: PasswordPorts): HandlerTable =>
  createHandlerTable(contract, {
    forgotPassword: async (request) => {
      await requestPasswordReset(ports, request.body, request)
      return { success: true, message: ports.words.text('notice.PASSWORD_FORGOT', request.locale) }
    },
    resetPassword: async (request) => {
      const terminatedSessions = await setPasswordByToken(ports, { purpose: 'RESET', ...request.body }, request)
      return { success: true, terminatedSessions }
    },
    initPassword: async (request) => {
      await setPasswordByToken(ports, { purpose: 'INIT', ...request.body }, request)
      return { success: true }
    },
    changePassword: async (request) => {
      const { ended, changedAt } = await changePassword(ports, request.body, request)
      return { success: true, terminatedSessions: ended, passwordChangedAt: toIso(changedAt) }
    },
  })
