import type { HandlerTable } from '../../kernel/index.ts'
import type { AddressGuard } from '../ip-whitelist/guard.ts'
import type { FactorProver } from '../mfa/prove.ts'
import type { Notices } from '../notices/notices.ts'
import type { IdentityPorts } from '../ports.ts'
import type { Liveness } from '../sessions/liveness.ts'
import { logout } from '../sessions/logout.ts'
import { sessionStarter } from '../sessions/start.ts'
import type { IdentitySettings } from '../settings.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import { refresher } from '../tokens/refresh.ts'
import { loginCompleter } from './complete.ts'
import { loginHandlers } from './handlers.ts'
import { loginInitiator } from './initiate.ts'
import type { MailQuota } from './mail-quota.ts'
import { codeSender } from './send-code.ts'
import type { Throttle } from './throttle.ts'
import type { LoginTurns } from './turns.ts'

export interface LoginParts {
  ports: IdentityPorts
  settings: IdentitySettings
  throttle: Throttle
  quota: MailQuota
  tokens: AccessTokens
  liveness: Liveness
  admit: AddressGuard
  prove: FactorProver
  notices: Notices
  turns: LoginTurns
}

/** Signing in, going on and signing out. */
export const createLogin = (parts: LoginParts): HandlerTable => {
  const { ports, settings, throttle, quota, liveness, turns } = parts
  const startSession = sessionStarter(ports, settings.sessions)
  const initiate = loginInitiator(ports, throttle, settings.login)
  const complete = loginCompleter({ ...parts, startSession })
  return loginHandlers(ports.words, {
    initiate: (facts, email, password) => turns.begin.runLimited(() => initiate(facts, email, password)),
    sendCode: codeSender(ports, turns.goOn.runLimited, quota, settings.login),
    complete: (facts, sessionId, factor) => turns.goOn.runLimited(() => complete(facts, sessionId, factor)),
    refresh: refresher(parts),
    logout: logout(ports, liveness),
  })
}
