import { accountStatus, createHandlerTable, type HandlerTable } from '../../kernel/index.ts'

import type { Throttle } from '../login/throttle.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { registrationCompleter } from './complete.ts'
import * as contract from './contract.ts'
import { registrationInitiator } from './initiate.ts'
import { emailVerifier } from './verify-email.ts'

/** Making an account of one's own: completions.md, Auth. */
export const registrationHandlers = (
  ports: IdentityPorts,
  throttle: Throttle,
  settings: IdentitySettings,
): HandlerTable => {
  const initiate = registrationInitiator(ports, settings)
  const verify = emailVerifier(ports, throttle, settings.portals)
  const complete = registrationCompleter(ports, settings)
  return createHandlerTable(contract, {
    initiateRegistration: (request) => initiate(request, request.body.email, request.body.turnstileToken),
    verifyRegistrationEmail: async (request) => {
      const { sessionId, code } = request.body
      await verify(request, sessionId, code)
      return { sessionId, emailVerified: true }
    },
    completeRegistration: async (request) => {
      const { sessionId, ...person } = request.body
      const { accountId, status, passwordInitToken } = await complete(request, sessionId, person)
      return {
        accountBizId: accountId,
        accountStatus: ports.words.coded(accountStatus, status, request.locale),
        pendingApproval: status === 'PENDING_APPROVAL',
        passwordInitToken,
      }
    },
  })
}
