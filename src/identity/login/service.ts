import { inTransaction } from '../../database/index.ts'
import {
  type AccountStatus,
  addMs,
  type ConcurrencyLimiter,
  type ConcurrencyLimits,
  createConcurrencyLimiter,
  type Instant,
  invalid,
  Refusal,
  type RequestContext,
  wholeMinutes,
  wholeSeconds,
} from '../../kernel/index.ts'
import { type Account, accountByEmail, accountById } from '../accounts/store.ts'
import { findAttempt, type PendingAttempt, prepareAttempt } from '../attempts/service.ts'
import { claimCodeSending, insertLoginAttempt } from '../attempts/store.ts'
import {
  assertResendable,
  codeDigest,
  countMail,
  maskEmail,
  mintCode,
  resendTooSoon,
  type SentCode,
} from '../codes/service.ts'
import { replaceCode } from '../codes/store.ts'
import type { MfaMethod } from '../mfa/contract.ts'
import { listEnabledMethods, type MfaPorts } from '../mfa/service.ts'
import { type PasswordPorts, rehashPassword } from '../passwords/service.ts'
import type { IdentityPorts } from '../ports.ts'
import { recordFailedLogin } from '../sessions/history-store.ts'
import type { RefreshPorts } from '../sessions/refresh.ts'
import { sessionNotFound } from '../tokens/rules.ts'

/** Concurrency limiters for login steps. */
export interface LoginConcurrency {
  firstStep: ConcurrencyLimiter
  laterSteps: ConcurrencyLimiter
}

/**
 * Limits concurrent login steps so that logins cannot starve signed-in users of database connections and CPU. Later steps
 * have a separate limit, so that new logins cannot block pending ones.
 */
export const createLoginConcurrency = (limits: ConcurrencyLimits): LoginConcurrency => ({
  firstStep: createConcurrencyLimiter(limits),
  laterSteps: createConcurrencyLimiter(limits),
})

/** The ports of sign-in. */
export interface LoginPorts extends MfaPorts, PasswordPorts, RefreshPorts {
  concurrency: LoginConcurrency
}

/** A pending sign-in with its account. */
export interface PendingLogin extends PendingAttempt {
  account: Account
}

/**
 * Returns the pending sign-in with a session id. Throws the refusals of `findAttempt`, and AUTH.PENDING_APPROVAL or
 * AUTH.SESSION_NOT_FOUND if the account is not active.
 */
export const findLogin = async (
  ports: IdentityPorts,
  sessionId: string,
  context: RequestContext,
  now: Instant,
): Promise<PendingLogin> => {
  const pending = await findAttempt(ports, 'LOGIN', sessionId, context, now)
  const { accountId } = pending.attempt
  const account = accountId ? await accountById(ports.database, context.portal, accountId) : undefined
  if (account?.status === 'PENDING_APPROVAL') throw new Refusal('AUTH.PENDING_APPROVAL')
  if (account?.status !== 'ACTIVE') throw sessionNotFound('the account is not active')
  return { ...pending, account }
}

/** E-mail address and password, as the client sent them. */
export interface Credentials {
  email: string
  password: string
}

/** Result of the first step. */
export interface InitiatedLogin {
  /** Null if the account is pending approval. */
  sessionId: string | null
  methods: MfaMethod[]
  /** Lifetime of the attempt in seconds. */
  expiresIn: number
  /** Account status that prevents the sign-in; null if it can continue. */
  accountStatus: AccountStatus | null
}

/** Account statuses for which a correct password is confirmed. */
const canInitiate = (account: Account): boolean => account.status === 'ACTIVE' || account.status === 'PENDING_APPROVAL'

/**
 * Verifies a password. Takes the same time if the account does not exist, so that the response time does not reveal
 * whether it exists.
 */
const verifyPassword = async (
  ports: LoginPorts,
  { email, password }: Credentials,
  context: RequestContext,
): Promise<Account> => {
  const account = await accountByEmail(ports.database, context.portal, email)
  const matches = await ports.passwords.verify(account?.passwordHash ?? null, password)
  if (account && matches && canInitiate(account)) return account
  const accountId = account?.id ?? null
  await recordFailedLogin(ports, { accountId, failure: 'INVALID_CREDENTIALS', method: null }, context)
  throw new Refusal('AUTH.INVALID_CREDENTIALS')
}

/** Counts a failure in advance. Withdraws it if the password is correct, or could not be verified because of overload. */
const verifyCountedPassword = async (
  ports: LoginPorts,
  credentials: Credentials,
  context: RequestContext,
): Promise<Account> => {
  const { lockout } = ports
  const subject = lockout.loginSubject(context.portal, credentials.email)
  const counted = await lockout.countFailure(subject)
  try {
    const account = await verifyPassword(ports, credentials, context)
    await lockout.withdrawFailure(counted)
    return account
  } catch (error) {
    if (error instanceof Refusal && error.code === 'SYSTEM.UNAVAILABLE') await lockout.withdrawFailure(counted)
    throw error
  }
}

/**
 * Verifies a password and starts a sign-in attempt, which a second factor completes. Throws AUTH.INVALID_CREDENTIALS for any
 * wrong credential, and ACCESS.RATE_LIMITED during a lockout.
 */
export const initiateLogin = async (
  ports: LoginPorts,
  credentials: Credentials,
  context: RequestContext,
): Promise<InitiatedLogin> => {
  const account = await verifyCountedPassword(ports, credentials, context)
  if (account.status !== 'ACTIVE') return { sessionId: null, methods: [], expiresIn: 0, accountStatus: account.status }
  const { sessionId, attempt, now } = prepareAttempt(ports, ports.settings.login, context)
  // The password changed during the verification, so verify it again.
  if (!(await insertLoginAttempt(ports.database, attempt, account, now)))
    return initiateLogin(ports, credentials, context)
  rehashPassword(ports, account, credentials.password)
  return {
    sessionId,
    methods: await listEnabledMethods(ports.database, account),
    expiresIn: Math.floor(ports.settings.login.sessionTtlMs / 1_000),
    accountStatus: null,
  }
}

/** Stores a code, unless a concurrent request does. Returns its lifetime in milliseconds. */
const storeCode = async (
  { database, digest, settings }: LoginPorts,
  { digest: attemptDigest, code: owner, attempt }: PendingLogin,
  code: string,
  now: Instant,
): Promise<number> => {
  const { codeTtlMs, resendMs } = settings.login
  const expiresAt = addMs(now, Math.min(codeTtlMs, attempt.expiresAt - now))
  const claimed = await inTransaction(database, async (tx) => {
    const isClaimed = await claimCodeSending(tx, owner.portal, attemptDigest, now, resendMs)
    if (isClaimed) await replaceCode(tx, owner, codeDigest(digest, owner, code), now, expiresAt)
    return isClaimed
  })
  if (!claimed) throw resendTooSoon(resendMs, 'a concurrent request sends a code', resendMs)
  return expiresAt - now
}

/** Stores a code for a pending sign-in. */
const issueCode = async (
  ports: LoginPorts,
  sessionId: string,
  code: string,
  context: RequestContext,
): Promise<{ login: PendingLogin; ttlMs: number }> => {
  const { cache, clock, settings } = ports
  const { portal } = context
  const now = clock.now()
  const login = await findLogin(ports, sessionId, context, now)
  assertResendable(login.attempt.codeSentAt, now, settings.login.resendMs)
  // Count the mail before replacing the code, so that the previous code stays valid if the quota is exhausted.
  const limit = settings.portals[portal].codeSends
  await countMail(cache, { portal, subject: login.account.id, kind: 'code', limit })
  return { login, ttlMs: await storeCode(ports, login, code, now) }
}

/**
 * Mails a code for a pending sign-in. It replaces the previous code. Throws the refusals of `findLogin`, and
 * ACCESS.RATE_LIMITED.
 */
export const sendLoginCode = async (
  ports: LoginPorts,
  { sessionId, method }: { sessionId: string; method: string },
  context: RequestContext,
): Promise<SentCode> => {
  if (method !== 'EMAIL') throw invalid('mfaMethod')
  const code = mintCode(ports.randomness)
  // The mail is sent outside the concurrency limit, because the mail server may be slow.
  const { login, ttlMs } = await ports.concurrency.laterSteps.runLimited(() =>
    issueCode(ports, sessionId, code, context),
  )
  await ports.mailer.send({
    to: login.account.email,
    template: 'login-code',
    locale: context.locale,
    values: { code, minutes: String(wholeMinutes(ttlMs)) },
  })
  return {
    maskedDestination: maskEmail(login.account.email),
    expiresIn: Math.floor(ttlMs / 1_000),
    resendAfter: wholeSeconds(ports.settings.login.resendMs),
    attemptsRemaining: login.attempt.triesLeft,
  }
}
