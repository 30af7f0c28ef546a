import { batch, commitWith, inTransaction, run, together } from '../../database/index.ts'
import {
  type AccountStatus,
  addMs,
  type ConcurrencyLimits,
  canonicalEmail,
  createFairLimiter,
  createSharedLimiter,
  type FairLimiter,
  type Instant,
  invalid,
  Refusal,
  type RequestContext,
  type SharedLimiter,
  wholeMinutes,
  wholeSeconds,
} from '../../kernel/index.ts'
import { networkKey } from '../../platform/limits/index.ts'
import { type Account, accountOfAttempt, accountWithEmail } from '../accounts/store.ts'
import { findAttemptAnd, type PendingAttempt, prepareAttempt } from '../attempts/service.ts'
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
import { renewCode } from '../codes/store.ts'
import { findSignInDevice, type SignInDevice } from '../devices/service.ts'
import type { CountedFailure } from '../lockout/service.ts'
import type { MfaMethod } from '../mfa/contract.ts'
import type { StrongFactors } from '../mfa/rules.ts'
import { enabledMethods, factorsOf, type MfaPorts } from '../mfa/service.ts'
import { otpOfAttempt } from '../mfa/store.ts'
import { assertMailAllowed } from '../mfa/verify.ts'
import { type PasswordPorts, rehashPassword } from '../passwords/service.ts'
import type { IdentityPorts } from '../ports.ts'
import { recordFailedLogin } from '../sessions/history-store.ts'
import type { RefreshPorts } from '../sessions/refresh.ts'
import { type IdentitySettings, rulesOf } from '../settings.ts'
import { sessionNotFound } from '../tokens/rules.ts'
import { passkeysOfAttempt, whereOffered } from '../webauthn/store.ts'
import type { KnownNetworks } from './known-networks.ts'

export interface LoginConcurrency {
  firstStep: FairLimiter
  laterSteps: FairLimiter
  /** Steps that wait for an identity provider. */
  providerSteps: FairLimiter
  /** Look-ups of devices for the order of waiting first steps. Networks take turns, so that a flood delays its own. */
  lookUps: SharedLimiter
}

/**
 * Logins must not starve signed-in users of connections and CPU. Later steps have a separate limit, so that new logins
 * cannot block pending ones.
 */
export function createLoginConcurrency(limits: ConcurrencyLimits): LoginConcurrency {
  return {
    firstStep: createFairLimiter(limits),
    laterSteps: createFairLimiter(limits),
    providerSteps: createFairLimiter(limits),
    lookUps: createSharedLimiter(limits),
  }
}

export interface LoginPorts extends MfaPorts, PasswordPorts, RefreshPorts {
  concurrency: LoginConcurrency
  networks: KnownNetworks
}

/** The place of a client in the queue of later steps, in which the device is not known yet. */
export function placeOf({ networks }: Pick<LoginPorts, 'networks'>, { clientIp }: RequestContext) {
  return {
    network: networkKey(clientIp),
    isKnown: () => networks.has(clientIp),
  }
}

/** Known devices and networks come first. A device that cannot be looked up now is unknown. */
export function placeOfFirstStep(ports: LoginPorts, email: string, context: RequestContext) {
  const place = placeOf(ports, context)
  const owner = { portal: context.portal, email: canonicalEmail(email) }
  const device = findSignInDevice(ports, ports.settings.login, owner, context)
  const isKnownDevice = async () => (await run(ports.database, device)).known !== null
  return {
    ...place,
    isKnown: () =>
      place.isKnown() || ports.concurrency.lookUps.runLimited(isKnownDevice, place.network).catch(() => false),
  }
}

/** Whether only the identity provider of the account starts a sign-in, so that it decides who still may. */
export function needsProvider(settings: IdentitySettings, { portal, providerIds }: Account): boolean {
  const { providers } = rulesOf(settings, portal)
  return providers.some(({ id, passwordSignIn }) => !passwordSignIn && providerIds.includes(id))
}

export interface PendingLogin extends PendingAttempt, StrongFactors {
  account: Account
  device: SignInDevice
}

/**
 * Throws the refusals of `findAttempt`, and AUTH.PENDING_APPROVAL or AUTH.SESSION_NOT_FOUND if the account is not
 * active.
 */
export async function findLogin(
  ports: IdentityPorts & Pick<LoginPorts, 'settings'>,
  sessionId: string,
  context: RequestContext,
  now: Instant,
): Promise<PendingLogin> {
  const { portal } = context
  const { pending, result } = await findAttemptAnd(ports, 'LOGIN', sessionId, context, now, (attempt) =>
    together([
      accountOfAttempt(portal, attempt),
      findSignInDevice(ports, ports.settings.login, { portal, attempt }, context),
      otpOfAttempt(portal, attempt),
      whereOffered(ports.settings, portal, passkeysOfAttempt(portal, attempt)),
    ]),
  )
  const [account, device, otp, passkeys] = result
  if (account?.status === 'PENDING_APPROVAL') throw new Refusal('AUTH.PENDING_APPROVAL')
  if (account?.status !== 'ACTIVE') throw sessionNotFound('the account is not active')
  return { ...pending, account, device, otp, passkeys }
}

export interface Credentials {
  email: string
  password: string
}

export interface InitiatedLogin {
  /** Null if the account is pending approval. */
  sessionId: string | null
  methods: MfaMethod[]
  /** In seconds. */
  expiresIn: number
  /** The status that prevents the sign-in, or null. */
  accountStatus: AccountStatus | null
}

/**
 * Throws AUTH.INVALID_CREDENTIALS for any wrong credential, ACCESS.RATE_LIMITED during a lockout, and
 * AUTH.AUTHENTICATOR_REQUIRED if the account has no usable second factor.
 */
export async function initiateLogin(
  ports: LoginPorts,
  credentials: Credentials,
  context: RequestContext,
): Promise<InitiatedLogin> {
  const { lockout, settings } = ports
  const { account, methods, counted } = await verifyPassword(ports, credentials, context)
  if (account.status !== 'ACTIVE' || methods.length === 0) {
    await lockout.withdrawFailure(counted)
    if (account.status !== 'ACTIVE')
      return { sessionId: null, methods: [], expiresIn: 0, accountStatus: account.status }
    throw new Refusal('AUTH.AUTHENTICATOR_REQUIRED', { internal: 'the account has no second factor that it may use' })
  }
  const { sessionId, attempt, now } = prepareAttempt(ports, settings.login, context)
  const isCurrent = await lockout.withdrawFailureAnd(counted, insertLoginAttempt(attempt, account, now))
  // The password changed during the verification, so verify it again.
  if (!isCurrent) return initiateLogin(ports, credentials, context)
  rehashPassword(ports, account, credentials.password)
  return { sessionId, methods, expiresIn: Math.floor(settings.login.sessionTtlMs / 1_000), accountStatus: null }
}

/**
 * Replaces the previous code. Throws the refusals of `findLogin`, ACCESS.RATE_LIMITED, and AUTH.MFA_METHOD_NOT_ALLOWED
 * if the account cannot use mailed codes.
 */
export async function sendLoginCode(
  ports: LoginPorts,
  { sessionId, method }: { sessionId: string; method: string },
  context: RequestContext,
): Promise<SentCode> {
  if (method !== 'EMAIL') throw invalid('mfaMethod')
  const code = mintCode(ports.randomness)
  const { login, ttlMs } = await ports.concurrency.laterSteps.runLimited(
    () => issueCode(ports, sessionId, code, context),
    placeOf(ports, context),
  )
  await ports.codeMails.send({
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

interface VerifiedPassword {
  account: Account
  methods: MfaMethod[]
  /** Withdraw it. */
  counted: CountedFailure
}

/** Takes the same time without an account, so that the response time does not reveal accounts. */
async function verifyPassword(
  ports: LoginPorts,
  { email, password }: Credentials,
  context: RequestContext,
): Promise<VerifiedPassword> {
  const { ids, lockout, passwords, settings } = ports
  const { portal } = context
  const owner = { portal, email: canonicalEmail(email) }
  const [{ known }, account] = await batch(ports.database, [
    findSignInDevice(ports, settings.login, owner, context),
    accountWithEmail(portal, email),
  ])
  const id = account?.id ?? ids.next<'account'>()
  const { counted, result: factors } = await lockout.countFailureAnd(
    lockout.loginSubject(portal, email, known),
    factorsOf(settings, { portal, id }),
  )
  const matches = await passwords.verify(account?.passwordHash ?? null, password).catch(async (error: unknown) => {
    // An overload is not a failure of the caller.
    if (error instanceof Refusal && error.code === 'SYSTEM.UNAVAILABLE') await lockout.withdrawFailure(counted)
    throw error
  })
  if (account && matches && canInitiate(settings, account))
    return { account, methods: enabledMethods(settings, account, factors), counted }
  const failed = { accountId: account?.id ?? null, failure: 'INVALID_CREDENTIALS', method: null } as const
  await recordFailedLogin(ports, failed, context)
  throw new Refusal('AUTH.INVALID_CREDENTIALS')
}

/**
 * For any other status, a correct password is refused like a wrong one. So is one of an account that must sign in with its
 * identity provider.
 */
function canInitiate(settings: IdentitySettings, account: Account): boolean {
  const { status } = account
  return !needsProvider(settings, account) && (status === 'ACTIVE' || status === 'PENDING_APPROVAL')
}

async function issueCode(
  ports: LoginPorts,
  sessionId: string,
  code: string,
  context: RequestContext,
): Promise<{ login: PendingLogin; ttlMs: number }> {
  const { cache, clock, settings } = ports
  const { portal } = context
  const now = clock.now()
  const login = await findLogin(ports, sessionId, context, now)
  assertMailAllowed(settings, login.account, login)
  assertResendable(login.attempt.codeSentAt, now, settings.login.resendMs)
  // Count first, so that an exhausted quota leaves the previous code valid.
  const { mayUseReserve } = login.device
  const { codeSends: limit } = rulesOf(settings, portal)
  await countMail(cache, { portal, subject: login.account.id, kind: 'code', limit, mayUseReserve })
  return { login, ttlMs: await storeCode(ports, login, code, now) }
}

/**
 * Returns the lifetime in milliseconds. Throws ACCESS.RATE_LIMITED if a concurrent request has stored a code: both
 * statements then change nothing.
 */
async function storeCode(
  { database, digest, settings }: LoginPorts,
  { digest: attemptDigest, code: owner, attempt }: PendingLogin,
  code: string,
  now: Instant,
): Promise<number> {
  const { codeTtlMs, resendMs } = settings.login
  const expiresAt = addMs(now, Math.min(codeTtlMs, attempt.expiresAt - now))
  const claimed = claimCodeSending(owner.portal, attemptDigest, now, resendMs)
  const renewed = renewCode(owner, codeDigest(digest, owner, code), now, expiresAt, resendMs)
  const isStored = await inTransaction(database, async () =>
    commitWith([claimed, renewed], (changed) => changed.every(Boolean)),
  )
  if (!isStored) throw resendTooSoon(resendMs, 'a concurrent request sends a code', resendMs)
  return expiresAt - now
}
