import { accountStatus, createHandlerTable, type HandlerTable } from '../../kernel/index.ts'
import type { MfaPorts } from '../mfa/service.ts'
import { registerFirstPasskey, startFirstPasskey } from '../passkeys/first.ts'
import { toPasskeyView } from '../passkeys/handlers.ts'
import { completeRegistration } from './complete.ts'

import * as contract from './contract.ts'
import { initiateRegistration, type RegistrationPorts, verifyRegistrationEmail } from './service.ts'

export function registrationHandlers(ports: RegistrationPorts & MfaPorts): HandlerTable {
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
    createFirstPasskeyOptions: (request) => startFirstPasskey(ports, request.body.token, request),
    registerFirstPasskey: async (request) => toPasskeyView(await registerFirstPasskey(ports, request.body, request)),
  })
}
