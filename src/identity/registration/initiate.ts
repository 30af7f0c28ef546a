import { inTransaction } from '../../database/index.ts'
import { addMs, invalid, parseLocale, type RequestContext, wholeMinutes, wholeSeconds } from '../../kernel/index.ts'
import type { Account } from '../accounts/account.ts'
import { accountByEmail } from '../accounts/store.ts'
import { replaceCode } from '../login/code-store.ts'
import { insertRegistration, type NewLoginSession } from '../login/login-session-store.ts'
import { addressSubject, mailQuota } from '../login/mail-quota.ts'
import { codeDigest, mintCode } from '../login/one-time-code.ts'
import { newPreLogin, preLoginCode } from '../login/pre-login.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { openRegistration } from './live-registration.ts'

/** Seconds. */
export interface InitiatedRegistration {
  sessionId: string
  expiresIn: number
  resendAfter: number
}

/**
 * Begins a registration. An address that has an account already gets the same answer, at the same pace, and a session
 * that no code will ever verify; its owner gets a mail that says so.
 */
export const registrationInitiator = (ports: IdentityPorts, { login: settings, portals }: IdentitySettings) => {
  const { background, cache, clock, database, digest, mailer, randomness, robots } = ports
  const quota = mailQuota(cache, 'registration', (portal) => portals[portal].codeSends)

  const tellOwner = ({ portal, email, language }: Account): Promise<void> => {
    const values = { url: portals[portal].links.signIn }
    return mailer.send({ to: email, template: 'account-exists', locale: parseLocale(language), values })
  }

  const sendCode = async (facts: RequestContext, email: string, session: NewLoginSession): Promise<void> => {
    const { portal, locale } = facts
    const owner = preLoginCode(portal, 'REGISTRATION', session.digest)
    const code = mintCode(randomness)
    const now = clock.now()
    const goodFor = Math.min(settings.codeTtlMs, session.expiresAt - now)
    const expiresAt = addMs(now, goodFor)
    await inTransaction(database, (tx) => replaceCode(tx, owner, codeDigest(digest, owner, code), now, expiresAt))
    const minutes = String(wholeMinutes(goodFor))
    await mailer.send({ to: email, template: 'registration-code', locale, values: { code, minutes } })
  }

  return async (facts: RequestContext, email: string, turnstileToken: string): Promise<InitiatedRegistration> => {
    const { portal } = facts
    openRegistration(portals, portal)
    if (!(await robots.passes(turnstileToken, facts.clientIp))) throw invalid('turnstileToken')
    await quota(portal, addressSubject(digest, email))
    const { sessionId, session, now } = newPreLogin(ports, facts, settings)
    await insertRegistration(database, session, email, now)
    background.run('registration-mail', async () => {
      const account = await accountByEmail(database, portal, email)
      await (account ? tellOwner(account) : sendCode(facts, email, session))
    })
    const expiresIn = Math.floor(settings.sessionTtlMs / 1_000)
    return { sessionId, expiresIn, resendAfter: wholeSeconds(settings.resendMs) }
  }
}
