import * as z from 'zod'
import { email, newPassword, password } from '../../contract/account-fields.ts'
import { opaque, timestamp } from '../../contract/fields.ts'
import { anonymous, everyPortal, own } from '../../contract/policies.ts'
import { operation } from '../../kernel/index.ts'

/** The description of the OpenAPI tag. */
export const summary = 'Password recovery and change.'

/** Turnstile response token. Empty if the deployment uses no Turnstile. */
export const turnstileToken = z.string().max(4_096)

const NewPassword = z.strictObject({ token: opaque(512), newPassword })
const PasswordSet = z.object({ success: z.boolean() })
const SessionsEnded = PasswordSet.extend({ terminatedSessions: z.int() })

const post = { method: 'POST', chains: everyPortal } as const

export const forgotPassword = operation({
  ...post,
  id: 'password.forgot',
  path: '/auth/password/forgot',
  summary: 'Request a link to reset the password',
  policy: { ...anonymous, rate: 'forgot' },
  body: z.strictObject({ email, turnstileToken }),
  reply: z.object({ success: z.boolean(), message: z.string() }),
  refuses: [],
})

export const resetPassword = operation({
  ...post,
  id: 'password.reset',
  path: '/auth/password/reset',
  summary: 'Reset the password and end all sessions',
  policy: { ...anonymous, rate: 'password' },
  body: NewPassword,
  reply: SessionsEnded,
  refuses: ['AUTH.SESSION_NOT_FOUND'],
})

export const initPassword = operation({
  ...post,
  id: 'password.init',
  path: '/auth/password/init',
  summary: 'Set the first password of a new account',
  policy: { ...anonymous, rate: 'password' },
  body: NewPassword,
  reply: PasswordSet,
  refuses: ['AUTH.SESSION_NOT_FOUND'],
})

export const changePassword = operation({
  ...post,
  id: 'password.change',
  path: '/auth/password/change',
  summary: 'Change the password and end all other sessions',
  policy: { ...own, rate: 'password', stepUp: true },
  body: z.strictObject({ currentPassword: password, newPassword }),
  reply: SessionsEnded.extend({ passwordChangedAt: timestamp }),
  refuses: ['AUTH.INVALID_CREDENTIALS'],
})
