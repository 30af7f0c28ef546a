import type { Tx } from '../../database/index.ts'
import {
  addMs,
  type Instant,
  type RequestContext,
  type SessionId,
  type SuspendedCredentials,
} from '../../kernel/index.ts'
import { firstOf } from '../../platform/crypto/index.ts'
import { unlinkYoungIdentities } from '../accounts/linked-store.ts'
import { type Account, accountById, lockAccount } from '../accounts/store.ts'
import { cancelLoginAttempts } from '../attempts/store.ts'
import { forgetFailures } from '../mfa/recovery/reset.ts'
import { type ProvenFactor, type RemovedFactor, removeYoungFactors } from '../mfa/recovery/young.ts'
import { queueNotice } from '../notices/service.ts'
import type { SessionEndReason } from '../sessions/schema.ts'
import { endSessions } from '../sessions/service.ts'
import { assertOpaqueToken, sessionNotFound } from '../tokens/rules.ts'
import type { PasswordPorts } from './service.ts'
import { cancelPasswordTokens, findTokenAccount, spendPasswordToken, type TokenKey } from './store.ts'

/** Throws AUTH.SESSION_NOT_FOUND for an unknown, used or expired token. */
export async function findMailedToken(
  { clock, database, digest }: Pick<PasswordPorts, 'clock' | 'database' | 'digest'>,
  { token, ...kind }: Pick<TokenKey, 'portal' | 'purpose'> & { token: string },
): Promise<{ key: TokenKey; account: Account }> {
  assertOpaqueToken(token)
  const found = await firstOf(digest.candidates('password-token', token), async (each) => {
    const key = { ...kind, digest: each }
    const id = await findTokenAccount(database, key, clock.now())
    const account = id && (await accountById(database, kind.portal, id))
    return account && { key, account }
  })
  if (!found) throw sessionNotFound('unknown password token')
  return found
}

/** Locks the account before the token. Every password change uses this order, which prevents deadlocks. */
export async function spendMailedToken(tx: Tx, key: TokenKey, { portal, id }: Account, now: Instant): Promise<Account> {
  const account = await lockAccount(tx, portal, id)
  if (account?.status !== 'ACTIVE' && account?.status !== 'PENDING_APPROVAL')
    throw sessionNotFound('the account is suspended or rejected')
  if (!(await spendPasswordToken(tx, key, now))) throw sessionNotFound('the token is spent')
  return account
}

/** Ends sessions and pending sign-ins. */
export async function endAccess(tx: Tx, account: Account, reason: SessionEndReason, at: Instant): Promise<SessionId[]> {
  await cancelLoginAttempts(tx, account.portal, account.id, at)
  return endSessions(tx, account, reason, at)
}

export interface Recovery {
  ended: SessionId[]
  removed: RemovedFactor[]
  suspended: SuspendedCredentials
}

const removalNotices = {
  OTP: 'OTP_REMOVED',
  OTP_LOCKED: 'OTP_LOCKED',
  BACKUP_CODE: 'BACKUP_CODES_REMOVED',
  PASSKEY: 'PASSKEY_REMOVED',
  PASSKEY_LOCKED: 'PASSKEY_LOCKED',
} as const satisfies Record<RemovedFactor, string>

/**
 * Takes from a thief what the account's sessions have given them: sessions, pending sign-ins, known devices, young
 * factors except `proven`, young links to identity providers, and credentials in the domains. Clears the limits that they have used up. The caller must have locked the account.
 */
export async function recoverAccount(
  ports: PasswordPorts,
  tx: Tx,
  account: Account,
  { proven, reason }: { proven: ProvenFactor | null; reason: SessionEndReason },
  context: RequestContext,
  at: Instant,
): Promise<Recovery> {
  const { portal, id } = account
  const ended = await endAccess(tx, account, reason, at)
  await cancelPasswordTokens(tx, portal, id, at, ['UNDO', 'PASSKEY'])
  await forgetFailures(ports, tx, account)
  const removed = await removeYoungFactors(ports, tx, account, { proven, at })
  for (const factor of removed) await queueNotice(tx, ports.ids, account, removalNotices[factor], context, at)
  const since = addMs(at, -ports.settings.suspicionMs)
  if (await unlinkYoungIdentities(tx, account, since, at))
    await queueNotice(tx, ports.ids, account, 'PROVIDER_UNLINKED', context, at)
  return { ended, removed, suspended: await ports.suspendCredentials(tx, { accountId: id, at }) }
}

/** For the audit log. */
export function removedDetail(removed: readonly RemovedFactor[]): Record<string, string> {
  return removed.length === 0 ? {} : { removedFactors: removed.join(',') }
}
