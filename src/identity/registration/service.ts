import { inTransaction, run } from '../../database/index.ts'
import {
  addMs,
  type Instant,
  invalid,
  isInDomains,
  type Portal,
  parseLocale,
  Refusal,
  type RequestContext,
  wholeMinutes,
  wholeSeconds,
} from '../../kernel/index.ts'
import { recordRefusal, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { assertEmailAccepted } from '../accounts/service.ts'
import { type Account, accountByEmail } from '../accounts/store.ts'
import { attemptCodeOwner, findAttempt, type PendingAttempt, prepareAttempt } from '../attempts/service.ts'
import { insertRegistrationAttempt, type NewAttempt, recordVerifiedEmail, takeTry } from '../attempts/store.ts'
import { addressSubject, codeDigest, countMail, mintCode, spendPresentedCode } from '../codes/service.ts'
import { replaceCode } from '../codes/store.ts'
import type { Lockout } from '../lockout/service.ts'
import { wrongFactor } from '../mfa/verify.ts'
import type { IdentityPorts } from '../ports.ts'
import { type IdentitySettings, rulesOf } from '../settings.ts'
import { sessionNotFound } from '../tokens/rules.ts'

export interface RegistrationPorts extends IdentityPorts {
  settings: IdentitySettings
  lockout: Lockout
}

export interface PendingRegistration extends Pick<PendingAttempt, 'digest' | 'code'> {
  email: string
  emailVerifiedAt: Instant | null
}

export function assertRegistrationOpen({ settings }: RegistrationPorts, portal: Portal): 'open' | 'approval' {
  const { selfRegistration } = rulesOf(settings, portal)
  if (selfRegistration === 'closed') throw new Refusal('AUTH.REGISTRATION_CLOSED')
  return selfRegistration
}

/** Returns a pending registration by its session id. Throws the refusals of `findAttempt`. */
export async function findRegistration(
  ports: RegistrationPorts,
  sessionId: string,
  context: RequestContext,
  now: Instant,
): Promise<PendingRegistration> {
  const { digest, code, attempt } = await findAttempt(ports, 'REGISTRATION', sessionId, context, now)
  if (attempt.email === null) throw sessionNotFound('the registration has no e-mail address')
  return { digest, code, email: attempt.email, emailVerifiedAt: attempt.emailVerifiedAt }
}

/** Times are in seconds. */
export interface InitiatedRegistration {
  sessionId: string
  expiresIn: number
  resendAfter: number
}

/**
 * If the address has an account, the response is the same, but the owner gets an email instead of a code. Throws
 * AUTH.REGISTRATION_CLOSED or ACCESS.RATE_LIMITED, and VALIDATION.INVALID_PARAMETER if the portal refuses the mail
 * domain.
 */
export async function initiateRegistration(
  ports: RegistrationPorts,
  { email, turnstileToken }: { email: string; turnstileToken: string },
  context: RequestContext,
): Promise<InitiatedRegistration> {
  const { background, cache, database, digest, captcha, settings } = ports
  const { portal, clientIp } = context
  assertRegistrationOpen(ports, portal)
  assertEmailAccepted(settings, email)
  if (isInDomains(email, rulesOf(settings, portal).refusedDomains)) throw invalid('email', 'a refused mail domain')
  if (!(await captcha.passes(turnstileToken, clientIp))) throw invalid('turnstileToken')
  const { codeSends, registrationMails } = rulesOf(settings, portal)
  const recipient = { portal, subject: addressSubject(digest, email) }
  await countMail(cache, { ...recipient, kind: 'registration', limit: codeSends })
  await countMail(cache, { ...recipient, kind: 'registration-daily', limit: registrationMails })
  const { sessionId, attempt, now } = prepareAttempt(ports, settings.login, context)
  await insertRegistrationAttempt(database, attempt, email, now)
  background.run('registration-mail', async () => {
    const account = await accountByEmail(database, portal, email)
    await (account ? mailExistingOwner(ports, account) : mailCode(ports, email, attempt, context))
  })
  const { sessionTtlMs, resendMs } = settings.login
  return { sessionId, expiresIn: Math.floor(sessionTtlMs / 1_000), resendAfter: wholeSeconds(resendMs) }
}

/** Throws AUTH.SESSION_NOT_FOUND, AUTH.CODE_INVALID or ACCESS.RATE_LIMITED. */
export async function verifyRegistrationEmail(
  ports: RegistrationPorts,
  { sessionId, code }: { sessionId: string; code: string },
  context: RequestContext,
): Promise<void> {
  const { clock, database } = ports
  assertRegistrationOpen(ports, context.portal)
  const registration = await findRegistration(ports, sessionId, context, clock.now())
  try {
    await verifyCode(ports, registration, code, context)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'AUTH.CODE_INVALID') {
      const event = { workspaceId: null, targetId: null, detail: { reason: 'CODE_INVALID' } }
      await recordRefusal(database, unauthenticatedAuditContext(null, context, clock.now()), event)
    }
    throw error
  }
}

function mailExistingOwner(
  { mailer, settings }: RegistrationPorts,
  { portal, email, language }: Account,
): Promise<void> {
  const values = { url: rulesOf(settings, portal).links.signIn }
  return mailer.send({ to: email, template: 'account-exists', locale: parseLocale(language), values })
}

async function mailCode(
  ports: RegistrationPorts,
  email: string,
  attempt: NewAttempt,
  { portal, locale }: RequestContext,
): Promise<void> {
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

/** Counts tries per address, too, so that a new registration does not allow more guesses. */
async function verifyCode(
  { clock, database, digest, lockout }: RegistrationPorts,
  { email, code: owner, digest: attemptDigest }: PendingRegistration,
  code: string,
  { portal }: RequestContext,
): Promise<void> {
  const subject = lockout.registrationSubject(portal, email)
  const now = clock.now()
  await lockout.countIfRefused(subject, wrongFactor, async () => {
    if (!(await takeTry(database, portal, attemptDigest, now))) throw sessionNotFound('no tries left')
    await inTransaction(database, async (tx) => {
      const isRight = await run(tx, spendPresentedCode(digest, owner, code, now))
      if (!isRight || !(await recordVerifiedEmail(tx, portal, attemptDigest, now)))
        throw new Refusal('AUTH.CODE_INVALID')
      await run(tx, lockout.clear(subject))
    })
  })
}
