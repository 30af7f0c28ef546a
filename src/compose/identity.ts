import type { Logger } from 'pino'
import { type Configuration, limitsOf } from '../config/index.ts'
import { createConstants } from '../domains/constants/index.ts'
import {
  createIdentity,
  defaultIdentitySettings,
  type Identity,
  type IdentitySettings,
  type OpenOwnWorkspace,
} from '../identity/index.ts'
import type { Portal } from '../kernel/index.ts'
import {
  type BreachCheck,
  createBreachCheck,
  createTurnstile,
  noBreachCheck,
  noRobotCheck,
} from '../platform/checks/index.ts'
import { linksOf } from './links.ts'
import type { Outside } from './outside.ts'

/** What the limits of the configuration say of identity's own counters, scaled like every limit. */
const scaled = <R extends { limit: number }>(rule: R | undefined, scale: number, otherwise: R): R => {
  const chosen = rule ?? otherwise
  return { ...chosen, limit: Math.max(1, Math.floor(chosen.limit * scale)) }
}

export const identitySettings = (settings: Configuration): IdentitySettings => {
  const defaults = defaultIdentitySettings
  const { limits, portals, passwords, login } = settings
  const portal = (each: Portal) => {
    const { groups } = limitsOf(settings, each)
    const { codeSends, forgot } = defaults.portals[each]
    return {
      selfRegistration: portals[each].selfRegistration,
      links: linksOf(settings, each),
      codeSends: scaled(groups.get('mfaSend')?.account, limits.scale, codeSends),
      forgot: scaled(groups.get('forgot')?.account, limits.scale, forgot),
    }
  }
  return {
    tokens: { ...defaults.tokens, ...settings.tokens },
    sessions: { ...defaults.sessions, ...settings.sessions },
    secureChannel: { ...defaults.secureChannel, ...settings.secureChannel },
    portals: { CONSUMER: portal('CONSUMER'), SYSTEM: portal('SYSTEM') },
    mfa: settings.mfa,
    passwords,
    login: {
      ...login,
      failures: scaled(login.failures, limits.scale, defaults.login.failures),
    },
  }
}

export const breachCheckOf = ({ passwords }: Configuration, logger: Logger): BreachCheck =>
  passwords.breachCheck.url
    ? createBreachCheck({ url: passwords.breachCheck.url, timeoutMs: passwords.breachCheck.timeoutMs }, logger)
    : noBreachCheck

/** Identity with what the configuration asks of the outside world for it. */
export const composeIdentity = (
  settings: Configuration,
  outside: Outside,
  logger: Logger,
  openWorkspace: OpenOwnWorkspace,
): Promise<Identity> => {
  const { secret, verifyUrl, timeoutMs } = settings.turnstile
  const ports = {
    ...outside,
    openWorkspace,
    isCountry: createConstants().isCountry,
    robots: secret ? createTurnstile({ secret: secret.reveal(), verifyUrl, timeoutMs }) : noRobotCheck,
    breaches: breachCheckOf(settings, logger),
  }
  return createIdentity(ports, identitySettings(settings))
}
