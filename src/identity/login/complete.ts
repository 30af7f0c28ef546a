import { inTransaction, type Tx } from '../../database/index.ts'
import { type Code, Refusal, type RequestContext } from '../../kernel/index.ts'
import { type Account, lockAccount, recordLastLogin } from '../accounts/store.ts'
import { attemptDigestOf } from '../attempts/service.ts'
import { spendAttempt, takeTry } from '../attempts/store.ts'
import { type PresentedFactor, verifyFactor } from '../mfa/verify.ts'
import { queueNotice } from '../notices/service.ts'
import { type LoginFailure, recordFailedLogin, recordLogin } from '../sessions/history-store.ts'
import type { TokenPair } from '../sessions/refresh.ts'
import { type StartedSession, startSession } from '../sessions/service.ts'
import { sessionNotFound } from '../tokens/rules.ts'
import { findLogin, type LoginPorts, type PendingLogin } from './service.ts'

/** Result of a completed sign-in. */
export interface CompletedLogin extends TokenPair {
  /** Seconds until the absolute end of the session. */
  refreshExpiresIn: number
  sessionId: string
  isNewDevice: boolean
}

const failures = new Map<Code, LoginFailure>([
  ['AUTH.CODE_INVALID', 'CODE_INVALID'],
  ['ACCESS.IP_NOT_ALLOWED', 'IP_NOT_ALLOWED'],
])

/** Records a refusal of `work` in the account's login history. */
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

/** Starts the session. The lock on the account serializes concurrent sign-ins, so that the session limit holds. */
const finish = async (
  ports: LoginPorts,
  tx: Tx,
  login: PendingLogin,
  factor: PresentedFactor,
  context: RequestContext,
): Promise<StartedSession> => {
  const { clock, ids, lockout } = ports
  const { portal } = context
  const now = clock.now()
  const account = await lockAccount(tx, portal, login.account.id)
  if (account?.status !== 'ACTIVE') throw sessionNotFound('the account is not active')
  // Mark the attempt as used before verifying the code, so that the slower of two concurrent requests gets
  // AUTH.SESSION_NOT_FOUND. A wrong code rolls this back.
  if (!(await spendAttempt(tx, portal, login.digest, now))) throw sessionNotFound('the attempt is spent')
  const owner = { portal, accountId: account.id, code: login.code }
  if (!(await verifyFactor(ports, tx, owner, factor, context, now))) throw new Refusal('AUTH.CODE_INVALID')
  const started = await startSession(ports, tx, account, context, now)
  await recordLastLogin(tx, account, context.clientIp, now)
  await lockout.clear(tx, lockout.loginSubject(portal, account.email))
  await recordLogin(ports, tx, { accountId: account.id, method: factor.method }, context, now)
  if (started.isNewDevice) await queueNotice(tx, ids, account, 'NEW_DEVICE', context, now)
  return started
}

const assertTryLeft = async (
  { clock, database }: LoginPorts,
  attempt: Uint8Array,
  { portal }: RequestContext,
): Promise<void> => {
  if (!(await takeTry(database, portal, attempt, clock.now()))) throw sessionNotFound('no tries left')
}

/** Finds the sign-in. A changed client hash uses up a try, like a wrong code. */
const findCountedLogin = async (
  ports: LoginPorts,
  sessionId: string,
  context: RequestContext,
): Promise<PendingLogin> => {
  try {
    return await findLogin(ports, sessionId, context, ports.clock.now())
  } catch (error) {
    if (error instanceof Refusal && error.code === 'AUTH.CLIENT_MISMATCH')
      await assertTryLeft(ports, attemptDigestOf(ports, sessionId), context)
    throw error
  }
}

/** Takes a try before verifying the factor. A lockout uses up no try, because others may have caused it. */
const verifyAndFinish = async (
  ports: LoginPorts,
  login: PendingLogin,
  factor: PresentedFactor,
  context: RequestContext,
): Promise<StartedSession> => {
  const { database, lockout } = ports
  const subject = lockout.loginSubject(context.portal, login.account.email)
  return lockout.countIfRefused(subject, 'AUTH.CODE_INVALID', async () => {
    await assertTryLeft(ports, login.digest, context)
    return inTransaction(database, (tx) => finish(ports, tx, login, factor, context))
  })
}

/**
 * Completes a sign-in with a second factor and starts a session. Throws AUTH.SESSION_NOT_FOUND, AUTH.CODE_INVALID,
 * ACCESS.IP_NOT_ALLOWED or ACCESS.RATE_LIMITED.
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
  for (const id of started.displaced) sessionCache.invalidate(id)
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
