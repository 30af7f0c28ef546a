import { accountStatus, createHandlerTable, type HandlerTable } from '../../kernel/index.ts'
import { completeRegistration } from './complete.ts'

import * as contract from './contract.ts'
import { initiateRegistration, type RegistrationPorts, verifyRegistrationEmail } from './service.ts'

export function registrationHandlers(ports: RegistrationPorts): HandlerTable {
  return createHandlerTable(contract, {
    initiateRegistration: (request) => initiateRegistration(ports, request.body, request),
    verifyRegistrationEmail: async (request) => {
      await verifyRegistrationEmail(ports, request.body, request)
      return { sessionId: request.body.sessionId, emailVerified: true }
    },
    completeRegistration: async (request) => {
      const { accountId, status, passwordInitToken } = await completeRegistration(ports, request.body, request)
      return {
        accountBizId: accountId,
        accountStatus: ports.words.coded(accountStatus, status, request.locale),
        pendingApproval: status === 'PENDING_APPROVAL',
        passwordInitToken,
      }
    },
  })
}
