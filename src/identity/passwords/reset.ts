import { inTransaction, type Tx } from '../../database/index.ts'
import { type Instant, Refusal, type RequestContext, suspendedDetail } from '../../kernel/index.ts'
import { recordRefusal, recordSuccess, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { firstOf } from '../../platform/crypto/index.ts'
import { type Account, accountById, lockAccount } from '../accounts/store.ts'
import { cancelLoginAttempts } from '../attempts/store.ts'
import { readOtp } from '../mfa/store.ts'
import { type StrongFactor, verifyStrongFactor } from '../mfa/verify.ts'
import { queueNotice } from '../notices/service.ts'
import { endSessions } from '../sessions/store.ts'
import { assertOpaqueToken, sessionNotFound } from '../tokens/rules.ts'
import { assertPasswordAllowed } from './policy.ts'
import type { PasswordTokenPurpose } from './schema.ts'
import type { PasswordPorts } from './service.ts'
import { cancelPasswordTokens, findTokenAccount, setPassword, spendPasswordToken, type TokenKey } from './store.ts'

const accountOfToken = async ({ database, clock }: PasswordPorts, key: TokenKey): Promise<Account | undefined> => {
  const id = await findTokenAccount(database, key, clock.now())
  return id && accountById(database, key.portal, id)
}

export interface TokenPassword {
  purpose: PasswordTokenPurpose
  token: string
  newPassword: string
  factor: StrongFactor | null
}

/**
 * The token only proves access to the mailbox. Throws ACCESS.STEP_UP_REQUIRED without a factor, and AUTH.CODE_INVALID
 * for a wrong code.
 */
const assertStrongFactor = async (
  ports: PasswordPorts,
  tx: Tx,
  account: Account,
  factor: StrongFactor | null,
  context: RequestContext,
  now: Instant,
): Promise<void> => {
  if (!(await readOtp(tx, account.portal, account.id))?.secret) return
  if (!factor) throw new Refusal('ACCESS.STEP_UP_REQUIRED', { internal: 'the account has an authenticator' })
  if (!(await verifyStrongFactor(ports, tx, account, factor, context, now))) throw new Refusal('AUTH.CODE_INVALID')
  await ports.lockout.clear(tx, ports.lockout.resetSubject(account.portal, account.id))
}

/** Locks the account before the token. Every password change uses this order, which prevents deadlocks. */
const spendTokenAndSetPassword = async (
  ports: PasswordPorts,
  tx: Tx,
  key: TokenKey,
  { portal, id }: Account,
  { hash, factor }: { hash: string; factor: StrongFactor | null },
  context: RequestContext,
) => {
  const { clock, ids, lockout, suspendCredentials } = ports
  const now = clock.now()
  const account = await lockAccount(tx, portal, id)
  if (account?.status !== 'ACTIVE' && account?.status !== 'PENDING_APPROVAL')
    throw sessionNotFound('the account is suspended or rejected')
  if (!(await spendPasswordToken(tx, key, now))) throw sessionNotFound('the token is spent')
  await assertStrongFactor(ports, tx, account, factor, context, now)
  if (!(await setPassword(tx, account, hash, now))) throw sessionNotFound('the password was set concurrently')
  await cancelPasswordTokens(tx, portal, id, now)
  await cancelLoginAttempts(tx, portal, id, now)
  // The token proves access to the mailbox, so end a lockout.
  await lockout.clearLogins(tx, portal, account.email)
  const ended = await endSessions(tx, account, 'PASSWORD_CHANGED', now)
  // A thief with the old password may have created them.
  const suspended = key.purpose === 'RESET' ? await suspendCredentials(tx, { accountId: id, at: now }) : {}
  const detail = { sessions: ended.length, ...suspendedDetail(suspended) }
  const target = { workspaceId: null, targetId: id, detail }
  await recordSuccess(tx, unauthenticatedAuditContext(id, context, now), target)
  await queueNotice(tx, ids, account, key.purpose === 'INIT' ? 'PASSWORD_SET' : 'PASSWORD_RESET', context, now)
  return ended
}

/** Runs `work`, which verifies `factor`. Counts a wrong code. Throws ACCESS.RATE_LIMITED during a lockout. */
const countWrongFactor = async <T>(
  { clock, database, lockout }: PasswordPorts,
  { portal, id }: Account,
  factor: StrongFactor | null,
  context: RequestContext,
  work: () => Promise<T>,
): Promise<T> => {
  if (!factor) return work()
  try {
    return await lockout.countIfRefused(lockout.resetSubject(portal, id), 'AUTH.CODE_INVALID', work)
  } catch (error) {
    if (error instanceof Refusal && error.code === 'AUTH.CODE_INVALID') {
      const event = { workspaceId: null, targetId: id, detail: { reason: 'CODE_INVALID' } }
      await recordRefusal(database, unauthenticatedAuditContext(id, context, clock.now()), event)
    }
    throw error
  }
}

/**
 * Ends all sessions and returns their number. A reset also suspends credentials in the domains. Keeps the second
 * factors. A refusal does not use up the token. Throws VALIDATION.INVALID_PARAMETER, AUTH.SESSION_NOT_FOUND for an
 * invalid token, and the refusals of `assertStrongFactor`.
 */
export const setPasswordByToken = async (
  ports: PasswordPorts,
  { purpose, token, newPassword, factor }: TokenPassword,
  context: RequestContext,
): Promise<number> => {
  const { database, digest, passwords, sessionCache } = ports
  assertOpaqueToken(token)
  const found = await firstOf(digest.candidates('password-token', token), async (each) => {
    const key = { portal: context.portal, purpose, digest: each }
    const account = await accountOfToken(ports, key)
    return account && { key, account }
  })
  if (!found) throw sessionNotFound('unknown password token')
  const { key, account } = found
  await assertPasswordAllowed(ports, newPassword, account)
  const hash = await passwords.hash(newPassword)
  const ended = await countWrongFactor(ports, account, factor, context, () =>
    inTransaction(database, (tx) => spendTokenAndSetPassword(ports, tx, key, account, { hash, factor }, context)),
  )
  for (const id of ended) sessionCache.invalidate(id)
  return ended.length
}
