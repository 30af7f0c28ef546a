import { inTransaction } from '../../database/index.ts'
import { addMs, invalid, parseLocale, type RequestContext, wholeMinutes, wholeSeconds } from '../../kernel/index.ts'
import { type Account, accountByEmail } from '../accounts/store.ts'
import { attemptCodeOwner, prepareAttempt } from '../attempts/service.ts'
import { insertRegistrationAttempt, type NewAttempt } from '../attempts/store.ts'
import { addressSubject, countMail } from '../codes/mail-quota.ts'
import { codeDigest, mintCode } from '../codes/rules.ts'
import { replaceCode } from '../codes/store.ts'
import { assertRegistrationOpen, type RegistrationPorts } from './registration-attempt.ts'

/** Times in seconds. */
export interface InitiatedRegistration {
  sessionId: string
  expiresIn: number
  resendAfter: number
}

const mailExistingOwner = (
  { mailer, settings }: RegistrationPorts,
  { portal, email, language }: Account,
): Promise<void> => {
  const values = { url: settings.portals[portal].links.signIn }
  return mailer.send({ to: email, template: 'account-exists', locale: parseLocale(language), values })
}

const mailCode = async (
  ports: RegistrationPorts,
  email: string,
  attempt: NewAttempt,
  { portal, locale }: RequestContext,
): Promise<void> => {
  const { clock, database, digest, mailer, randomness, settings } = ports
  const owner = attemptCodeOwner(portal, 'REGISTRATION', attempt.digest)
  const code = mintCode(randomness)
  const now = clock.now()
  const ttlMs = Math.min(settings.login.codeTtlMs, attempt.expiresAt - now)
  const expiresAt = addMs(now, ttlMs)
  await inTransaction(database, (tx) => replaceCode(tx, owner, codeDigest(digest, owner, code), now, expiresAt))
  const minutes = String(wholeMinutes(ttlMs))
  await mailer.send({ to: email, template: 'registration-code', locale, values: { code, minutes } })
}

/**
 * Starts a registration and mails a code. The response for an address that has an account is the same: its session id can
 * never be verified, and the owner gets a mail that says so. Throws AUTH.REGISTRATION_CLOSED or ACCESS.RATE_LIMITED.
 */
export const initiateRegistration = async (
  ports: RegistrationPorts,
  { email, turnstileToken }: { email: string; turnstileToken: string },
  context: RequestContext,
): Promise<InitiatedRegistration> => {
  const { background, cache, database, digest, robots, settings } = ports
  const { portal, clientIp } = context
  assertRegistrationOpen(ports, portal)
  if (!(await robots.passes(turnstileToken, clientIp))) throw invalid('turnstileToken')
  const limit = settings.portals[portal].codeSends
  await countMail(cache, { portal, subject: addressSubject(digest, email), kind: 'registration', limit })
  const { sessionId, attempt, now } = prepareAttempt(ports, settings.login, context)
  await insertRegistrationAttempt(database, attempt, email, now)
  background.run('registration-mail', async () => {
    const account = await accountByEmail(database, portal, email)
    await (account ? mailExistingOwner(ports, account) : mailCode(ports, email, attempt, context))
  })
  const { sessionTtlMs, resendMs } = settings.login
  return { sessionId, expiresIn: Math.floor(sessionTtlMs / 1_000), resendAfter: wholeSeconds(resendMs) }
}
