import type { HandlerTable } from '../../kernel/index.ts'
import type { Throttle } from '../login/throttle.ts'
import type { Notices } from '../notices/notices.ts'
import type { IdentityPorts } from '../ports.ts'
import type { Liveness } from '../sessions/liveness.ts'
import type { IdentitySettings } from '../settings.ts'
import { passwordChanger } from './change.ts'
import { forgotPassword } from './forgot.ts'
import { passwordHandlers } from './handlers.ts'
import { passwordRule } from './rule.ts'
import { passwordSetter } from './set-by-token.ts'

export interface PasswordParts {
  ports: IdentityPorts
  settings: IdentitySettings
  throttle: Throttle
  liveness: Liveness
  notices: Notices
}

/** Passwords: forgotten, set by a link, changed. */
export const createPasswords = ({ ports, settings, throttle, liveness, notices }: PasswordParts): HandlerTable => {
  const rule = passwordRule(ports, settings.passwords)
  return passwordHandlers(ports.words, {
    forgot: forgotPassword(ports, settings),
    setByToken: passwordSetter({ ports, rule, throttle, liveness, notices }),
    change: passwordChanger({ ports, rule, liveness, notices }),
  })
}
