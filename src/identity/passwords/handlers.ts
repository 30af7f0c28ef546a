import { createHandlerTable, type HandlerTable, toIso, type Words } from '../../kernel/index.ts'
import type { passwordChanger } from './change.ts'
import * as contract from './contract.ts'
import type { forgotPassword } from './forgot.ts'
import type { passwordSetter } from './set-by-token.ts'

interface UseCases {
  forgot: ReturnType<typeof forgotPassword>
  setByToken: ReturnType<typeof passwordSetter>
  change: ReturnType<typeof passwordChanger>
}

/** Recovery and rotation of passwords: completions.md, Auth. */
export const passwordHandlers = (words: Words, { forgot, setByToken, change }: UseCases): HandlerTable =>
  createHandlerTable(contract, {
    forgotPassword: async (request) => {
      const { email, turnstileToken } = request.body
      await forgot(request, email, turnstileToken)
      return { success: true, message: words.text('notice.PASSWORD_FORGOT', request.locale) }
    },
    resetPassword: async (request) => {
      const { token, newPassword } = request.body
      return { success: true, terminatedSessions: await setByToken(request, 'RESET', token, newPassword) }
    },
    initPassword: async (request) => {
      const { token, newPassword } = request.body
      await setByToken(request, 'INIT', token, newPassword)
      return { success: true }
    },
    changePassword: async (request) => {
      const { currentPassword, newPassword } = request.body
      const { ended, changedAt } = await change(request, currentPassword, newPassword)
      return { success: true, terminatedSessions: ended, passwordChangedAt: toIso(changedAt) }
    },
  })
