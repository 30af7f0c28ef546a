import { type AccountStatus, Refusal, type RequestContext } from '../../kernel/index.ts'
import type { Account } from '../accounts/account.ts'
import { accountByEmail } from '../accounts/store.ts'
import type { MfaMethod } from '../mfa/contract.ts'
import { enabledMethods } from '../mfa/methods.ts'
import { upgradePassword } from '../passwords/upgrade.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { insertLogin } from './login-session-store.ts'
import { newPreLogin } from './pre-login.ts'
import { recordFailedLogin } from './record.ts'
import type { Throttle } from './throttle.ts'

export interface InitiatedLogin {
  /** Null where the account still waits for its approval. */
  sessionId: string | null
  methods: MfaMethod[]
  /** Seconds. */
  expiresIn: number
  /** What keeps the login from going on; null where nothing does. */
  accountStatus: AccountStatus | null
}

const mayKnow = (account: Account): boolean => account.status === 'ACTIVE' || account.status === 'PENDING_APPROVAL'

/** The first step of a login. Whatever is wrong is AUTH.INVALID_CREDENTIALS, at the cost of one verification. */
export const loginInitiator = (ports: IdentityPorts, throttle: Throttle, settings: IdentitySettings['login']) => {
  const { database, passwords } = ports

  const verify = async (facts: RequestContext, email: string, password: string): Promise<Account> => {
    const account = await accountByEmail(database, facts.portal, email)
    const matches = await passwords.verify(account?.passwordHash ?? null, password)
    if (account && matches && mayKnow(account)) return account
    const accountId = account?.id ?? null
    await recordFailedLogin(ports, facts, { accountId, failure: 'INVALID_CREDENTIALS', method: null })
    throw new Refusal('AUTH.INVALID_CREDENTIALS')
  }

  /** Only a wrong password counts; a service that is too busy to look at it takes the count back. */
  const counted = async (facts: RequestContext, email: string, password: string): Promise<Account> => {
    const subject = throttle.subject(facts.portal, email)
    await throttle.count(subject)
    try {
      const account = await verify(facts, email, password)
      await throttle.uncount(subject)
      return account
    } catch (error) {
      if (error instanceof Refusal && error.code === 'SYSTEM.UNAVAILABLE') await throttle.uncount(subject)
      throw error
    }
  }

  const initiate = async (facts: RequestContext, email: string, password: string): Promise<InitiatedLogin> => {
    const account = await counted(facts, email, password)
    if (account.status !== 'ACTIVE')
      return { sessionId: null, methods: [], expiresIn: 0, accountStatus: account.status }
    const { sessionId, session, now } = newPreLogin(ports, facts, settings)
    // The account got another hash while this one was verified, so the password is looked at anew.
    if (!(await insertLogin(database, session, account, now))) return initiate(facts, email, password)
    upgradePassword(ports, account, password)
    return {
      sessionId,
      methods: await enabledMethods(database, account),
      expiresIn: Math.floor(settings.sessionTtlMs / 1_000),
      accountStatus: null,
    }
  }
  return initiate
}
