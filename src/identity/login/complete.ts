import { batch, inTransaction, type LastStatements, type Tx } from '../../database/index.ts'
import { type AccountId, Refusal, type RequestContext } from '../../kernel/index.ts'
import { spendOneOf } from '../../platform/crypto/index.ts'
import { accountLocked } from '../accounts/store.ts'
import { spendAttempt, takeTry } from '../attempts/store.ts'
import { recordDevice } from '../devices/store.ts'
import type { FailureSubject } from '../lockout/store.ts'
import type { PresentedFactor } from '../mfa/presented.ts'
import { mustSignInByPasskey } from '../mfa/rules.ts'
import { factorOf, failureOf, isWrongFactor, wrongFactor } from '../mfa/verify.ts'
import { type LoginFailure, recordFailedLogin } from '../sessions/history-store.ts'
import { spendKeyProof } from '../tokens/key-proof.ts'
import { sessionNotFound } from '../tokens/rules.ts'
import { signInBinding } from '../webauthn/challenges.ts'
import { suspendingCopies } from '../webauthn/copies.ts'
import { passkeysOf, whereOffered } from '../webauthn/store.ts'
import { findLogin, type LoginPorts, needsProvider, type PendingLogin } from './service.ts'
import { type CompletedLogin, issueTokens, type SessionClient, type StartedLogin, startLogin } from './start.ts'

export type LoginCompletion = PresentedFactor & { sessionId: string }

/** Throws what `finishLogin` throws. */
export async function completeLogin(
  ports: LoginPorts,
  completion: LoginCompletion,
  context: RequestContext,
): Promise<CompletedLogin> {
  const started = await finishLogin(ports, completion, context, { kind: 'tokens', replaced: null })
  return issueTokens(ports, started, context)
}

/**
 * Throws AUTH.SESSION_NOT_FOUND, AUTH.CODE_INVALID, AUTH.PASSKEY_INVALID, AUTH.MFA_METHOD_NOT_ALLOWED,
 * ACCESS.PASSKEY_REQUIRED, ACCESS.IP_NOT_ALLOWED, ACCESS.RATE_LIMITED, or what `spendKeyProof` throws.
 */
export async function finishLogin(
  ports: LoginPorts,
  { sessionId, ...factor }: LoginCompletion,
  context: RequestContext,
  client: SessionClient,
): Promise<StartedLogin> {
  const login = await findCountedLogin(ports, sessionId, context)
  const { account } = login
  const subject = { accountId: account.id, method: factor.method }
  const finished = await recordingFailure(ports, subject, context, async () => {
    await ports.addressGuard.assertAllowed({ ...account, accountId: account.id }, context.clientIp)
    await spendKeyProof(ports, context)
    return verifyAndFinish(ports, login, factor, context, client)
  })
  for (const id of finished.displaced) ports.sessionCache.invalidate(id)
  return finished
}

/**
 * If `work` rejects because of a wrong factor or a disallowed address, records a failed sign-in. The same statements run for
 * an unknown account.
 */
export async function recordingFailure<T>(
  ports: LoginPorts,
  subject: { accountId: AccountId | null; method: PresentedFactor['method'] },
  context: RequestContext,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const failure = failureOfLogin(error)
    if (failure) await recordFailedLogin(ports, { ...subject, failure }, context)
    throw error
  }
}

/** Undefined for an error that the login history does not contain. */
function failureOfLogin(error: unknown): LoginFailure | undefined {
  if (isWrongFactor(error)) return failureOf(error)
  return error instanceof Refusal && error.code === 'ACCESS.IP_NOT_ALLOWED' ? 'IP_NOT_ALLOWED' : undefined
}

/** A changed client hash uses up a try, like a wrong code. */
async function findCountedLogin(ports: LoginPorts, sessionId: string, context: RequestContext): Promise<PendingLogin> {
  try {
    return await findLogin(ports, sessionId, context, ports.clock.now())
  } catch (error) {
    if (error instanceof Refusal && error.code === 'AUTH.CLIENT_MISMATCH')
      await assertTryLeft(ports, ports.digest.candidates('login-session', sessionId), context)
    throw error
  }
}

async function assertTryLeft(
  { clock, database }: LoginPorts,
  attempts: readonly Uint8Array[],
  { portal }: RequestContext,
): Promise<void> {
  if (!(await spendOneOf(attempts, (attempt) => takeTry(database, portal, attempt, clock.now()))))
    throw sessionNotFound('no tries left')
}

/** A lockout uses up no try, because another person may have caused it. */
async function verifyAndFinish(
  ports: LoginPorts,
  login: PendingLogin,
  factor: PresentedFactor,
  context: RequestContext,
  client: SessionClient,
): Promise<StartedLogin> {
  const { database, lockout } = ports
  const subject = lockout.loginSubject(context.portal, login.account.email, login.device.known)
  return lockout.countIfRefused(subject, wrongFactor, async () => {
    await assertTryLeft(ports, [login.digest], context)
    return suspendingCopies(ports, context, () =>
      inTransaction(database, (tx) => finish(ports, tx, login, factor, subject, context, client)),
    )
  })
}

/**
 * The account lock makes concurrent sign-ins respect the session limit. It is the first statement, so that the others,
 * which are sent with it, wait for it.
 */
async function finish(
  ports: LoginPorts,
  tx: Tx,
  login: PendingLogin,
  factor: PresentedFactor,
  subject: FailureSubject,
  context: RequestContext,
  client: SessionClient,
): Promise<LastStatements<StartedLogin>> {
  const { clock, digest, lockout } = ports
  const { portal } = context
  const { id } = login.account
  const now = clock.now()
  const challenge = signInBinding(portal, login.digest)
  // Spend the attempt before verifying, so that the slower of two concurrent requests gets AUTH.SESSION_NOT_FOUND. A
  // refusal or a wrong code rolls everything back.
  const [account, isSpent, verify, passkeys, isNewDevice] = await batch(tx, [
    accountLocked(portal, id),
    spendAttempt(portal, login.digest, now),
    factorOf(ports, { portal, id, code: login.code, challenge }, factor, context, now),
    whereOffered(ports.settings, portal, passkeysOf({ portal, id })),
    recordDevice(id, digest.candidates('client-hash', context.clientHash), now),
  ])
  if (account?.status !== 'ACTIVE') throw sessionNotFound('the account is not active')
  if (!isSpent) throw sessionNotFound('the attempt is spent')
  // A link ends the attempts that it sees. This one may have been verified concurrently.
  if (login.attempt.providerId === null && needsProvider(ports.settings, account))
    throw sessionNotFound('the account signs in at its identity provider')
  if (factor.method !== 'PASSKEY' && mustSignInByPasskey(ports.settings, account, passkeys))
    throw new Refusal('ACCESS.PASSKEY_REQUIRED', { internal: `the sign-in was by ${factor.method}` })
  const proof = await verify(tx, account)
  if (!proof) throw new Refusal('AUTH.CODE_INVALID')
  const { providerId, providerSid, providerToken } = login.attempt
  const provider = providerId === null ? null : { providerId, providerSid, providerToken }
  const enrolledPasskey = passkeys.some(({ id: passkeyId, isEnrolled }) => isEnrolled && passkeyId === proof.passkey)
  const factorFacts = { signedInBy: factor.method, passkeyId: proof.passkey, enrolledPasskey }
  const facts = { ...client, ...factorFacts, isNewDevice, provider }
  return startLogin(ports, tx, account, facts, [lockout.clear(subject)], context, now)
}
