import {
  accountStatus,
  type Caller,
  createHandlerTable,
  type HandlerTable,
  type RequestContext,
  type Words,
} from '../../kernel/index.ts'
import { mfaMethod } from '../mfa/contract.ts'

import type { refresher } from '../tokens/refresh.ts'
import type { loginCompleter } from './complete.ts'
import * as contract from './contract.ts'
import type { loginInitiator } from './initiate.ts'
import type { codeSender } from './send-code.ts'

interface UseCases {
  initiate: ReturnType<typeof loginInitiator>
  sendCode: ReturnType<typeof codeSender>
  complete: ReturnType<typeof loginCompleter>
  refresh: ReturnType<typeof refresher>
  logout(request: RequestContext & { caller: Caller }): Promise<number>
}

/** Signing in and out: interface.md 4.2, completions.md, Auth. */
export const loginHandlers = (words: Words, useCases: UseCases): HandlerTable =>
  createHandlerTable(contract, {
    initiateLogin: async (request) => {
      const { email, password } = request.body
      const { sessionId, methods, expiresIn, accountStatus: status } = await useCases.initiate(request, email, password)
      return {
        sessionId,
        mfaMethods: methods.map((method) => words.coded(mfaMethod, method, request.locale)),
        expiresIn,
        accountStatus: status && words.coded(accountStatus, status, request.locale),
        pendingApproval: status === 'PENDING_APPROVAL',
      }
    },
    sendLoginCode: async (request) => {
      const { sessionId, mfaMethod: method } = request.body
      const sent = await useCases.sendCode(request, sessionId, method)
      return { mfaMethod: words.coded(mfaMethod, method, request.locale), ...sent }
    },
    completeLogin: async (request) => {
      const { sessionId, mfaMethod: method, code } = request.body
      return { ...(await useCases.complete(request, sessionId, { method, code })), tokenType: 'Bearer' }
    },
    refreshToken: (request) => useCases.refresh(request, request.body.refreshToken),
    logout: async (request) => ({ success: true, terminatedSessions: await useCases.logout(request) }),
  })
