import type { Logger } from 'pino'
import {
  type Configuration,
  ConfigurationError,
  type LimitRule,
  limitsOf,
  type PortalConfiguration,
} from '../config/index.ts'
import {
  createIdentity,
  fixedSettings,
  type Identity,
  type IdentitySettings,
  type OpenOwnWorkspace,
} from '../identity/index.ts'
import type { Portal, RateGroup } from '../kernel/index.ts'
import { type BreachCheck, createBreachCheck, noBreachCheck } from '../platform/breached-passwords.ts'
import { createTurnstile, noCaptcha } from '../platform/captcha.ts'
import { isCountry } from '../platform/countries.ts'
import { scaledLimit } from '../platform/limits/index.ts'
import type { Infrastructure } from './infrastructure.ts'

/**
 * Returns absolute links for mails. They come from the configuration only, and never from the Host header of a request.
 */
export const linksOf = (
  { publicUrl, portals }: Pick<Configuration, 'publicUrl' | 'portals'>,
  portal: Portal,
): PortalConfiguration['links'] => {
  const whole = (page: string) => (page.startsWith('/') ? publicUrl.replace(/\/$/, '') + page : page)
  const { signIn, passwordReset } = portals[portal].links
  return { signIn: whole(signIn), passwordReset: whole(passwordReset) }
}

const scaled = <R extends { limit: number }>(rule: R, scale: number): R => ({
  ...rule,
  limit: scaledLimit(rule.limit, scale),
})

/** Returns the account rule of a limit group at a portal, multiplied by the scale of all limits. */
const accountRule = (settings: Configuration, portal: Portal, group: RateGroup): LimitRule => {
  const { groups } = limitsOf(settings, portal)
  // A group without an account rule uses the general one.
  const rule = groups.get(group)?.account ?? groups.get('general')?.account
  if (!rule) throw new ConfigurationError([`limits.groups.${group}.account: is missing`])
  return scaled(rule, settings.limits.scale)
}

export const identitySettings = (settings: Configuration): IdentitySettings => {
  const { limits, portals, passwords, login } = settings
  const portal = (each: Portal) => ({
    selfRegistration: portals[each].selfRegistration,
    links: linksOf(settings, each),
    codeSends: accountRule(settings, each, 'mfaSend'),
    forgot: accountRule(settings, each, 'forgot'),
  })
  return {
    tokens: { ...fixedSettings.tokens, ...settings.tokens, assertionTtlMs: settings.assertion.ttlMs },
    sessions: { ...fixedSettings.sessions, ...settings.sessions },
    secureChannel: { ...fixedSettings.secureChannel, ...settings.secureChannel },
    portals: { CONSUMER: portal('CONSUMER'), SYSTEM: portal('SYSTEM') },
    mfa: settings.mfa,
    passwords,
    login: { ...login, failures: scaled(login.failures, limits.scale) },
  }
}

export const breachCheckOf = ({ passwords }: Configuration, logger: Logger): BreachCheck =>
  passwords.breachCheck.url
    ? createBreachCheck({ ...passwords.breachCheck, url: passwords.breachCheck.url.reveal() }, logger)
    : noBreachCheck

/** Builds identity with the captcha and breach check that the configuration selects. */
export const composeIdentity = (
  settings: Configuration,
  infrastructure: Infrastructure,
  logger: Logger,
  openWorkspace: OpenOwnWorkspace,
): Promise<Identity> => {
  const { secret, verifyUrl, timeoutMs } = settings.turnstile
  const ports = {
    ...infrastructure,
    openWorkspace,
    isCountry,
    captcha: secret ? createTurnstile({ secret: secret.reveal(), verifyUrl, timeoutMs }) : noCaptcha,
    breachedPasswords: breachCheckOf(settings, logger),
  }
  return createIdentity(ports, identitySettings(settings))
}
