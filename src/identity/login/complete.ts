import { type CodeOf, type Instant, Refusal, type RequestFacts } from '../../kernel/index.ts'
import { inTransaction, type Tx } from '../../platform/database/index.ts'
import { lockAccount, recordLastLogin } from '../accounts/store.ts'
import type { AddressGuard } from '../ip-whitelist/guard.ts'
import type { IdentityPorts } from '../ports.ts'
import type { Liveness } from '../sessions/liveness.ts'
import type { StartedSession, sessionStarter } from '../sessions/start.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import type { TokenPair } from '../tokens/refresh.ts'
import { spendCode } from './code-store.ts'
import { findLogin, type LiveLogin, loginNotFound } from './live-login.ts'
import { countAttempt, spendLoginSession } from './login-session-store.ts'
import { codeDigest } from './one-time-code.ts'
import { recordFailedLogin, recordLogin } from './record.ts'
import type { Throttle } from './throttle.ts'

export interface CompletedLogin extends TokenPair {
  /** Seconds until the session ends whatever happens. */
  refreshExpiresIn: number
  sessionId: string
  isNewDevice: boolean
}

export interface SecondFactor {
  method: CodeOf<'mfaMethod'>
  code: string
}

interface Parts {
  ports: IdentityPorts
  throttle: Throttle
  tokens: AccessTokens
  liveness: Liveness
  admit: AddressGuard
  startSession: ReturnType<typeof sessionStarter>
}

/** The last step of a login: the second factor, then the session. The attempt is counted before it is looked at. */
export const loginCompleter = ({ ports, throttle, tokens, liveness, admit, startSession }: Parts) => {
  const { database, clock, digest } = ports

  /** Whether the factor is proved; what proves it is spent. EMAIL is the one method that an account has so far. */
  const prove = async (tx: Tx, login: LiveLogin, { method, code }: SecondFactor, now: Instant): Promise<boolean> =>
    method === 'EMAIL' && (await spendCode(tx, login.code, codeDigest(digest, login.code, code), now))

  /** Under the account's lock: one session per login, and no more sessions than the account may have. */
  const finish = async (
    tx: Tx,
    facts: RequestFacts,
    login: LiveLogin,
    factor: SecondFactor,
  ): Promise<StartedSession | undefined> => {
    const now = clock.now()
    const account = await lockAccount(tx, facts.portal, login.account.id)
    if (account?.status !== 'ACTIVE') throw loginNotFound('the account is not active any more')
    if (!(await prove(tx, login, factor, now))) return undefined
    if (!(await spendLoginSession(tx, facts.portal, login.digest, now))) throw loginNotFound('the login is spent')
    const started = await startSession(tx, account, facts, now)
    await recordLastLogin(tx, account, facts.clientIp, now)
    await throttle.clear(tx, throttle.subject(facts.portal, account.email))
    await recordLogin(ports, tx, facts, account.id, now)
    return started
  }

  return async (facts: RequestFacts, sessionId: string, factor: SecondFactor): Promise<CompletedLogin> => {
    const login = await findLogin(ports, facts, sessionId, clock.now())
    const { account } = login
    await admit({ ...account, accountId: account.id }, facts.clientIp)
    if (!(await countAttempt(database, facts.portal, login.digest, clock.now())))
      throw loginNotFound('no attempt is left')
    await throttle.count(throttle.subject(facts.portal, account.email))
    const started = await inTransaction(database, (tx) => finish(tx, facts, login, factor))
    if (!started) {
      await recordFailedLogin(ports, facts, account.id, 'CODE_INVALID')
      throw new Refusal('AUTH.CODE_INVALID')
    }
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
