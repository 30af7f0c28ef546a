import { inTransaction, type Tx } from '../../database/index.ts'
import { type Code, Refusal, type RequestContext } from '../../kernel/index.ts'
import type { Account } from '../accounts/account.ts'
import { lockAccount, recordLastLogin } from '../accounts/store.ts'
import type { AddressGuard } from '../ip-whitelist/guard.ts'
import type { FactorProof, FactorProver } from '../mfa/prove.ts'
import type { Notices } from '../notices/notices.ts'
import type { IdentityPorts } from '../ports.ts'
import { sessionNotFound } from '../session-not-found.ts'
import type { Liveness } from '../sessions/liveness.ts'
import type { StartedSession, sessionStarter } from '../sessions/start.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import type { TokenPair } from '../tokens/refresh.ts'
import type { LoginFailure } from './history-store.ts'
import { findLogin, type LiveLogin } from './live-login.ts'
import { countAttempt, spendLoginSession } from './login-session-store.ts'
import { recordFailedLogin, recordLogin } from './record.ts'
import type { Throttle } from './throttle.ts'

export interface CompletedLogin extends TokenPair {
  /** Seconds until the session ends whatever happens. */
  refreshExpiresIn: number
  sessionId: string
  isNewDevice: boolean
}

interface Parts {
  ports: IdentityPorts
  throttle: Throttle
  tokens: AccessTokens
  liveness: Liveness
  admit: AddressGuard
  startSession: ReturnType<typeof sessionStarter>
  prove: FactorProver
  notices: Notices
}

const failures = new Map<Code, LoginFailure>([
  ['AUTH.CODE_INVALID', 'CODE_INVALID'],
  ['ACCESS.IP_NOT_ALLOWED', 'IP_NOT_ALLOWED'],
])

/** The last step of a login: the second factor, then the session. The attempt is counted before it is looked at. */
export const loginCompleter = (parts: Parts) => {
  const { ports, throttle, tokens, liveness, admit, startSession, prove, notices } = parts
  const { database, clock } = ports

  /** What the account's owner gets to see in the history when a login is refused here. */
  const toldIn = async <T>(
    facts: RequestContext,
    account: Account,
    { method }: FactorProof,
    work: Promise<T>,
  ): Promise<T> => {
    try {
      return await work
    } catch (error) {
      const failure = error instanceof Refusal ? failures.get(error.code) : undefined
      if (failure) await recordFailedLogin(ports, facts, { accountId: account.id, failure, method })
      throw error
    }
  }

  /** Under the account's lock: one session per login, and no more sessions than the account may have. */
  const finish = async (
    tx: Tx,
    facts: RequestContext,
    login: LiveLogin,
    factor: FactorProof,
  ): Promise<StartedSession> => {
    const now = clock.now()
    const account = await lockAccount(tx, facts.portal, login.account.id)
    if (account?.status !== 'ACTIVE') throw sessionNotFound('the account is not active any more')
    // Spent first, so that whoever comes second is told that the login is over, not that the code is wrong; a code that
    // is wrong takes this back.
    if (!(await spendLoginSession(tx, facts.portal, login.digest, now))) throw sessionNotFound('the login is spent')
    const owner = { portal: facts.portal, accountId: account.id, code: login.code }
    if (!(await prove(tx, owner, factor, facts, now))) throw new Refusal('AUTH.CODE_INVALID')
    const started = await startSession(tx, account, facts, now)
    await recordLastLogin(tx, account, facts.clientIp, now)
    await throttle.clear(tx, throttle.subject(facts.portal, account.email))
    await recordLogin(ports, tx, facts, { accountId: account.id, method: factor.method }, now)
    if (started.isNewDevice) await notices.newDevice(tx, account, facts, now)
    return started
  }

  return async (facts: RequestContext, sessionId: string, factor: FactorProof): Promise<CompletedLogin> => {
    const login = await findLogin(ports, facts, sessionId, clock.now())
    const { account } = login
    await toldIn(facts, account, factor, admit({ ...account, accountId: account.id }, facts.clientIp))
    const subject = throttle.subject(facts.portal, account.email)
    // Whoever has to wait loses no attempt by it: failures of others may have brought the wait.
    const finished = throttle.counted(subject, 'AUTH.CODE_INVALID', async () => {
      if (!(await countAttempt(database, facts.portal, login.digest, clock.now())))
        throw sessionNotFound('no attempt is left')
      return inTransaction(database, (tx) => finish(tx, facts, login, factor))
    })
    const started = await toldIn(facts, account, factor, finished)
    for (const id of started.displaced) liveness.forget(id)
    const access = await tokens.issue({
      portal: facts.portal,
      accountId: account.id,
      sessionId: started.sessionId,
      clientHash: facts.clientHash,
      sessionExpiresAt: started.expiresAt,
    })
    return {
      ...access,
      refreshToken: started.refreshToken,
      refreshExpiresIn: Math.floor((started.expiresAt - clock.now()) / 1_000),
      sessionId: started.sessionId,
      isNewDevice: started.isNewDevice,
    }
  }
}
