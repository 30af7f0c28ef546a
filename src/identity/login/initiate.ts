import { type AccountStatus, Refusal, type RequestContext } from '../../kernel/index.ts'
import { type Account, accountByEmail } from '../accounts/store.ts'
import { prepareAttempt } from '../attempts/service.ts'
import { insertLoginAttempt } from '../attempts/store.ts'
import { recordFailedLogin } from '../login-history/service.ts'
import type { MfaMethod } from '../mfa/contract.ts'
import { listEnabledMethods } from '../mfa/service.ts'
import { rehashPassword } from '../passwords/service.ts'
import type { LoginPorts } from './login-attempt.ts'

export interface Credentials {
  email: string
  password: string
}

export interface InitiatedLogin {
  /** Null if the account is pending approval. */
  sessionId: string | null
  methods: MfaMethod[]
  /** Seconds. */
  expiresIn: number
  /** The status that prevents the sign-in; null if it can go on. */
  accountStatus: AccountStatus | null
}

/** These accounts learn that their password is right. */
const canInitiate = (account: Account): boolean => account.status === 'ACTIVE' || account.status === 'PENDING_APPROVAL'

/** Verifies one password in any case, so that the response time does not reveal whether the account exists. */
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

/** Counts a failure in advance and withdraws it if the password is right, or was not checked because of overload. */
const verifyCountedPassword = async (
  ports: LoginPorts,
  credentials: Credentials,
  context: RequestContext,
): Promise<Account> => {
  const { lockout } = ports
  const subject = lockout.loginSubject(context.portal, credentials.email)
  await lockout.countFailure(subject)
  try {
    const account = await verifyPassword(ports, credentials, context)
    await lockout.withdrawFailure(subject)
    return account
  } catch (error) {
    if (error instanceof Refusal && error.code === 'SYSTEM.UNAVAILABLE') await lockout.withdrawFailure(subject)
    throw error
  }
}

/**
 * Verifies a password and starts a sign-in attempt, which a second factor completes. Everything that is wrong is the same
 * AUTH.INVALID_CREDENTIALS. Throws ACCESS.RATE_LIMITED during a lockout.
 */
export const initiateLogin = async (
  ports: LoginPorts,
  credentials: Credentials,
  context: RequestContext,
): Promise<InitiatedLogin> => {
  const account = await verifyCountedPassword(ports, credentials, context)
  if (account.status !== 'ACTIVE') return { sessionId: null, methods: [], expiresIn: 0, accountStatus: account.status }
  const { sessionId, attempt, now } = prepareAttempt(ports, ports.settings.login, context)
  // The hash was replaced while the password was verified, so verify it against the new one.
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
