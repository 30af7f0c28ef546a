import { allInOrder, inTransaction, type SendWithCommit, type Tx } from '../../database/index.ts'
import { type Code, Refusal, type RequestContext } from '../../kernel/index.ts'
import { spendOneOf } from '../../platform/crypto/index.ts'
import { type Account, lockAccount, recordLastLogin } from '../accounts/store.ts'
import { spendAttempt, takeTry } from '../attempts/store.ts'
import { deleteOldestDevices, recordDevice } from '../devices/store.ts'
import type { FailureSubject } from '../lockout/store.ts'
import { type PresentedFactor, verifyFactor } from '../mfa/verify.ts'
import { queueNotice } from '../notices/service.ts'
import { type LoginFailure, recordFailedLogin, recordLogin } from '../sessions/history-store.ts'
import type { TokenPair } from '../sessions/refresh.ts'
import { type StartedSession, startSession } from '../sessions/service.ts'
import { sessionNotFound } from '../tokens/rules.ts'
import { findLogin, type LoginPorts, type PendingLogin } from './service.ts'

export interface CompletedLogin extends TokenPair {
  /** Seconds, regardless of activity. */
  refreshExpiresIn: number
  sessionId: string
  isNewDevice: boolean
}

const failures = new Map<Code, LoginFailure>([
  ['AUTH.CODE_INVALID', 'CODE_INVALID'],
  ['ACCESS.IP_NOT_ALLOWED', 'IP_NOT_ALLOWED'],
])

/** Waits for `work`. If `work` rejects because of a wrong code or a disallowed address, records a failed sign-in. */
const recordingFailure = async <T>(
  ports: LoginPorts,
  account: Account,
  { method }: PresentedFactor,
  context: RequestContext,
  work: Promise<T>,
): Promise<T> => {
  try {
    return await work
  } catch (error) {
    const failure = error instanceof Refusal ? failures.get(error.code) : undefined
    if (failure) await recordFailedLogin(ports, { accountId: account.id, failure, method }, context)
    throw error
  }
}

interface FinishedLogin extends StartedSession {
  isNewDevice: boolean
}

const assertActive = (account: Account | undefined): Account => {
  if (account?.status !== 'ACTIVE') throw sessionNotFound('the account is not active')
  return account
}

/**
 * The account lock makes concurrent sign-ins respect the session limit. It is the first statement, so that the others,
 * which are sent with it, wait for it.
 */
const finish = async (
  ports: LoginPorts,
  tx: Tx,
  sendWithCommit: SendWithCommit,
  login: PendingLogin,
  factor: PresentedFactor,
  subject: FailureSubject,
  context: RequestContext,
): Promise<FinishedLogin> => {
  const { clock, digest, ids, lockout } = ports
  const { portal } = context
  const { id } = login.account
  const now = clock.now()
  const locked = lockAccount(tx, portal, id).then(assertActive)
  // Spend the attempt before verifying, so that the slower of two concurrent requests gets AUTH.SESSION_NOT_FOUND. A
  // refusal or a wrong code rolls everything back.
  const spent = spendAttempt(tx, portal, login.digest, now).then((isSpent) => {
    if (!isSpent) throw sessionNotFound('the attempt is spent')
  })
  const verified = verifyFactor(ports, tx, { portal, id, account: locked, code: login.code }, factor, context, now)
  const recorded = recordDevice(tx, id, digest.candidates('client-hash', context.clientHash), now)
  const [account, , isCorrect, isNewDevice] = await allInOrder([locked, spent, verified, recorded])
  if (!isCorrect) throw new Refusal('AUTH.CODE_INVALID')
  const started = startSession(ports, tx, account, context, now)
  sendWithCommit(
    started.written,
    recordLastLogin(tx, account, context.clientIp, now),
    lockout.clear(tx, subject),
    recordLogin(ports, tx, { accountId: id, method: factor.method }, context, now),
  )
  if (isNewDevice)
    sendWithCommit(deleteOldestDevices(tx, id), queueNotice(tx, ids, account, 'NEW_DEVICE', context, now))
  return { ...started, isNewDevice }
}

const assertTryLeft = async (
  { clock, database }: LoginPorts,
  attempts: readonly Uint8Array[],
  { portal }: RequestContext,
): Promise<void> => {
  if (!(await spendOneOf(attempts, (attempt) => takeTry(database, portal, attempt, clock.now()))))
    throw sessionNotFound('no tries left')
}

/** A changed client hash uses up a try, like a wrong code. */
const findCountedLogin = async (
  ports: LoginPorts,
  sessionId: string,
  context: RequestContext,
): Promise<PendingLogin> => {
  try {
    return await findLogin(ports, sessionId, context, ports.clock.now())
  } catch (error) {
    if (error instanceof Refusal && error.code === 'AUTH.CLIENT_MISMATCH')
      await assertTryLeft(ports, ports.digest.candidates('login-session', sessionId), context)
    throw error
  }
}

/** A lockout uses up no try, because another person may have caused it. */
const verifyAndFinish = async (
  ports: LoginPorts,
  login: PendingLogin,
  factor: PresentedFactor,
  context: RequestContext,
): Promise<FinishedLogin> => {
  const { database, lockout } = ports
  const subject = lockout.loginSubject(context.portal, login.account.email, login.device.known)
  return lockout.countIfRefused(subject, 'AUTH.CODE_INVALID', async () => {
    await assertTryLeft(ports, [login.digest], context)
    return inTransaction(database, (tx, sendWithCommit) =>
      finish(ports, tx, sendWithCommit, login, factor, subject, context),
    )
  })
}

/**
 * Throws AUTH.SESSION_NOT_FOUND, AUTH.CODE_INVALID, AUTH.MFA_METHOD_NOT_ALLOWED, ACCESS.IP_NOT_ALLOWED or
 * ACCESS.RATE_LIMITED.
 */
export const completeLogin = async (
  ports: LoginPorts,
  { sessionId, ...factor }: PresentedFactor & { sessionId: string },
  context: RequestContext,
): Promise<CompletedLogin> => {
  const { addressGuard, clock, sessionCache, tokens } = ports
  const { portal, clientIp, clientHash } = context
  const login = await findCountedLogin(ports, sessionId, context)
  const { account } = login
  const allowed = addressGuard.assertAllowed({ ...account, accountId: account.id }, clientIp)
  await recordingFailure(ports, account, factor, context, allowed)
  const finished = verifyAndFinish(ports, login, factor, context)
  const started = await recordingFailure(ports, account, factor, context, finished)
  for (const id of await started.displaced) sessionCache.invalidate(id)
  const { sessionId: id, expiresAt: sessionExpiresAt } = started
  const access = await tokens.issue({ portal, accountId: account.id, sessionId: id, clientHash, sessionExpiresAt })
  return {
    ...access,
    refreshToken: started.refreshToken,
    refreshExpiresIn: Math.floor((sessionExpiresAt - clock.now()) / 1_000),
    sessionId: id,
    isNewDevice: started.isNewDevice,
  }
}
