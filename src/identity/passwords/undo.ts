import { inTransaction } from '../../database/index.ts'
import {
  type AccountId,
  addMs,
  type Instant,
  type Portal,
  type RequestContext,
  summarizeSuspended,
} from '../../kernel/index.ts'
import { recordSuccess, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import { rulesOf } from '../settings.ts'
import { mintToken } from '../tokens/rules.ts'
import { findMailedToken, type Recovery, recoverAccount, removedDetail, spendMailedToken } from './recovery.ts'
import type { PasswordPorts } from './service.ts'
import { insertPasswordToken } from './store.ts'

export interface UndoLink {
  url: string
  expiresAt: Instant
}

/** Returns null once a factor of `enrolledAt` is too old for the link. */
export async function createUndoLink(
  {
    clock,
    database,
    digest,
    randomness,
    settings,
  }: Pick<PasswordPorts, 'clock' | 'database' | 'digest' | 'randomness' | 'settings'>,
  { portal, id: accountId }: { portal: Portal; id: AccountId },
  enrolledAt: Instant,
): Promise<UndoLink | null> {
  const now = clock.now()
  const expiresAt = addMs(enrolledAt, settings.suspicionMs)
  if (expiresAt <= now) return null
  const token = mintToken(randomness)
  const stored = { digest: digest('password-token', token), portal, accountId, purpose: 'UNDO', expiresAt } as const
  await insertPasswordToken(database, stored, now)
  return { url: `${rulesOf(settings, portal).links.factorUndo}#token=${token}`, expiresAt }
}

/**
 * Recovers the account without a new password. Throws AUTH.SESSION_NOT_FOUND for an invalid token, or if the account
 * is suspended.
 */
export async function undoFactors(ports: PasswordPorts, token: string, context: RequestContext): Promise<Recovery> {
  const { clock, database, sessionCache } = ports
  const { key, account } = await findMailedToken(ports, { portal: context.portal, purpose: 'UNDO', token })
  const recovery = await inTransaction(database, async (tx) => {
    const now = clock.now()
    const locked = await spendMailedToken(tx, key, account, now)
    const how = { proven: null, reason: 'TERMINATED' } as const
    const { ended, removed, suspended } = await recoverAccount(ports, tx, locked, how, context, now)
    const detail = { sessions: ended.length, ...removedDetail(removed), ...summarizeSuspended(suspended).detail }
    const target = { workspaceId: null, targetId: account.id, detail }
    await recordSuccess(tx, unauthenticatedAuditContext(account.id, context, now), target)
    return { ended, removed, suspended }
  })
  for (const id of recovery.ended) sessionCache.invalidate(id)
  return recovery
}
