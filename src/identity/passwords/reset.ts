import { inTransaction, type Tx } from '../../database/index.ts'
import type { Instant, RequestContext } from '../../kernel/index.ts'
import { recordSuccess, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { type Account, accountById, lockAccount } from '../accounts/store.ts'
import { cancelLoginAttempts } from '../attempts/store.ts'
import { queueNotice } from '../notices/service.ts'
import { endSessions } from '../sessions/store.ts'
import { assertOpaqueToken, sessionNotFound } from '../tokens/rules.ts'
import { assertPasswordAllowed } from './policy.ts'
import type { PasswordTokenPurpose } from './schema.ts'
import type { PasswordPorts } from './service.ts'
import { cancelPasswordTokens, findTokenAccount, setPassword, spendPasswordToken, type TokenKey } from './store.ts'

const accountOfToken = async ({ database, clock }: PasswordPorts, key: TokenKey): Promise<Account> => {
  const id = await findTokenAccount(database, key, clock.now())
  const account = id && (await accountById(database, key.portal, id))
  if (!account) throw sessionNotFound('unknown password token')
  return account
}

/**
 * Locks the account before marking the token as used, in the same order as every password change, to avoid deadlocks.
 */
const spendTokenAndSetPassword = async (
  { ids, lockout }: PasswordPorts,
  tx: Tx,
  key: TokenKey,
  { portal, id }: Account,
  hash: string,
  context: RequestContext,
  now: Instant,
) => {
  const account = await lockAccount(tx, portal, id)
  if (account?.status !== 'ACTIVE' && account?.status !== 'PENDING_APPROVAL')
    throw sessionNotFound('the account is suspended or rejected')
  if (!(await spendPasswordToken(tx, key, now))) throw sessionNotFound('the token is spent')
  if (!(await setPassword(tx, account, hash, now))) throw sessionNotFound('the password was set concurrently')
  await cancelPasswordTokens(tx, portal, id, now)
  await cancelLoginAttempts(tx, portal, id, now)
  // The token proves access to the mailbox, so end the lockout.
  await lockout.clear(tx, lockout.loginSubject(portal, account.email))
  const ended = await endSessions(tx, account, 'PASSWORD_CHANGED', now)
  const target = { workspaceId: null, targetId: id, detail: { sessions: ended.length } }
  await recordSuccess(tx, unauthenticatedAuditContext(id, context, now), target)
  await queueNotice(tx, ids, account, key.purpose === 'INIT' ? 'PASSWORD_SET' : 'PASSWORD_RESET', context, now)
  return ended
}

/**
 * Sets a password with a one-time token from a mailed link or a completed registration. Ends all sessions and returns how
 * many. Second factors stay. A password that violates the policy does not spend the token. Throws
 * VALIDATION.INVALID_PARAMETER, or AUTH.SESSION_NOT_FOUND if the token is unknown, expired or spent.
 */
export const setPasswordByToken = async (
  ports: PasswordPorts,
  { purpose, token, newPassword }: { purpose: PasswordTokenPurpose; token: string; newPassword: string },
  context: RequestContext,
): Promise<number> => {
  const { clock, database, digest, passwords, sessionCache } = ports
  assertOpaqueToken(token)
  const key = { portal: context.portal, purpose, digest: digest('password-token', token) }
  const account = await accountOfToken(ports, key)
  await assertPasswordAllowed(ports, newPassword, account)
  const hash = await passwords.hash(newPassword)
  const ended = await inTransaction(database, (tx) =>
    spendTokenAndSetPassword(ports, tx, key, account, hash, context, clock.now()),
  )
  for (const id of ended) sessionCache.invalidate(id)
  return ended.length
}
