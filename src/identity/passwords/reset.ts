import { inTransaction, run, type Tx } from '../../database/index.ts'
import { type Instant, Refusal, type RequestContext, type SessionId, summarizeSuspended } from '../../kernel/index.ts'
import { recordRefusal, recordSuccess, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import type { Account } from '../accounts/store.ts'
import type { StrongFactor } from '../mfa/presented.ts'
import { bindsRecovery, hasStrongFactor, isFactorYoung, type ProvenFactor, provenBy } from '../mfa/recovery/young.ts'
import { failureOf, isWrongFactor, verifyStrongFactor, wrongFactor } from '../mfa/verify.ts'
import { queueNotice } from '../notices/service.ts'
import { sessionNotFound } from '../tokens/rules.ts'
import { suspendingCopies } from '../webauthn/copies.ts'
import { assertPasswordAllowed } from './policy.ts'
import {
  endAccess,
  findMailedToken,
  type Recovery,
  recoverAccount,
  removedDetail,
  spendMailedToken,
} from './recovery.ts'
import type { PasswordPorts } from './service.ts'
import { cancelPasswordTokens, setPassword, type TokenKey } from './store.ts'

export interface TokenPassword {
  purpose: 'INIT' | 'RESET'
  token: string
  newPassword: string
  factor: StrongFactor | null
}

/**
 * Ends all sessions and returns their number. A reset recovers the account, too: it keeps second factors that are
 * older or verified. A refusal does not use up the token. Throws VALIDATION.INVALID_PARAMETER, AUTH.SESSION_NOT_FOUND
 * for an invalid token, and the refusals of `verifyResetFactor`.
 */
export async function setPasswordByToken(
  ports: PasswordPorts,
  { purpose, token, newPassword, factor }: TokenPassword,
  context: RequestContext,
): Promise<number> {
  const { database, passwords, sessionCache } = ports
  const { key, account: found } = await findMailedToken(ports, { portal: context.portal, purpose, token })
  await assertPasswordAllowed(ports, newPassword, found)
  const hash = await passwords.hash(newPassword)
  const ended = await countWrongFactor(ports, found, factor, context, () =>
    inTransaction(database, (tx) => spendTokenAndSetPassword(ports, tx, key, { hash, factor, found }, context)),
  )
  for (const id of ended) sessionCache.invalidate(id)
  return ended.length
}

/** Runs `work`, which verifies `factor`. Counts a wrong code. Throws ACCESS.RATE_LIMITED during a lockout. */
async function countWrongFactor<T>(
  ports: PasswordPorts,
  { portal, id }: Account,
  factor: StrongFactor | null,
  context: RequestContext,
  work: () => Promise<T>,
): Promise<T> {
  const { clock, database, lockout } = ports
  if (!factor) return work()
  try {
    return await lockout.countIfRefused(lockout.resetSubject(portal, id), wrongFactor, () =>
      suspendingCopies(ports, context, work),
    )
  } catch (error) {
    if (isWrongFactor(error)) {
      const event = { workspaceId: null, targetId: id, detail: { reason: failureOf(error) } }
      await recordRefusal(database, unauthenticatedAuditContext(id, context, clock.now()), event)
    }
    throw error
  }
}

async function spendTokenAndSetPassword(
  ports: PasswordPorts,
  tx: Tx,
  key: TokenKey,
  { hash, factor, found }: { hash: string; factor: StrongFactor | null; found: Account },
  context: RequestContext,
): Promise<SessionId[]> {
  const { clock, ids, lockout } = ports
  const now = clock.now()
  const account = await spendMailedToken(tx, key, found, now)
  const { portal, id } = account
  const proven = await verifyResetFactor(ports, tx, account, factor, context, now)
  if (!(await setPassword(tx, account, hash, now))) throw sessionNotFound('the password was set concurrently')
  await cancelPasswordTokens(tx, portal, id, now)
  // The token proves access to the mailbox, so end a lockout.
  await lockout.clearLogins(tx, portal, account.email)
  const isReset = key.purpose === 'RESET'
  const reason = 'PASSWORD_CHANGED'
  const { ended, removed, suspended }: Recovery = isReset
    ? await recoverAccount(ports, tx, account, { proven, reason }, context, now)
    : { ended: await endAccess(tx, account, reason, now), removed: [], suspended: {} }
  const detail = { sessions: ended.length, ...removedDetail(removed), ...summarizeSuspended(suspended).detail }
  const target = { workspaceId: null, targetId: id, detail }
  await recordSuccess(tx, unauthenticatedAuditContext(id, context, now), target)
  await queueNotice(tx, ids, account, isReset ? 'PASSWORD_RESET' : 'PASSWORD_SET', context, now)
  return ended
}

/**
 * The token only proves access to the mailbox. Returns the verified factor. Throws
 * ACCESS.STEP_UP_REQUIRED without a factor or for a young one, unless only a young factor asks for it, and
 * AUTH.CODE_INVALID or AUTH.PASSKEY_INVALID for a wrong factor.
 */
async function verifyResetFactor(
  ports: PasswordPorts,
  tx: Tx,
  account: Account,
  factor: StrongFactor | null,
  context: RequestContext,
  now: Instant,
): Promise<ProvenFactor | null> {
  const isBound = await bindsRecovery(ports, tx, account, now)
  if (!isBound && (!factor || !(await hasStrongFactor(tx, account)))) return null
  if (!factor)
    throw new Refusal('ACCESS.STEP_UP_REQUIRED', { internal: 'the account has or had an authenticator or a passkey' })
  if (isBound && (await isFactorYoung(ports, tx, account, factor, now)))
    throw new Refusal('ACCESS.STEP_UP_REQUIRED', { internal: 'the factor is younger than the suspicion window' })
  if (!(await verifyStrongFactor(ports, tx, account, factor, context, now))) throw new Refusal('AUTH.CODE_INVALID')
  await run(tx, ports.lockout.clear(ports.lockout.resetSubject(account.portal, account.id)))
  return provenBy(factor)
}
