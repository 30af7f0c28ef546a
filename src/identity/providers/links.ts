import { inTransaction, run } from '../../database/index.ts'
import { conflict, notFound } from '../../kernel/index.ts'
import { auditContextOf, recordSuccess } from '../../platform/audit/index.ts'
import { showLinked } from '../accounts/linked-store.ts'
import { lockOwnAccount } from '../accounts/service.ts'
import { cancelLoginAttempts } from '../attempts/store.ts'
import { queueNotice } from '../notices/service.ts'
import type { CallerContext } from '../ports.ts'
import { assertSession } from '../sessions/rules.ts'
import { assertSessionOpen } from '../sessions/service.ts'
import { endOldestSessions } from '../sessions/store.ts'
import { finishAttempt, type ProviderReply, type StartedAttempt, startAttempt } from './attempts/service.ts'
import type { ProviderPorts } from './ports.ts'
import { applyGroups } from './rights.ts'
import { deleteIdentity, identitiesOf, insertIdentity, type LinkedIdentity, openSessionIds } from './store.ts'

/** Throws AUTH.PROVIDER_UNAVAILABLE, or STATE.CONFLICT if the account has a person of this provider. */
export async function startLink(
  ports: ProviderPorts,
  { providerId, returnTo }: { providerId: string; returnTo: string | undefined },
  context: CallerContext,
): Promise<StartedAttempt> {
  const session = assertSession(context.caller)
  const linked = await identitiesOf(ports.database, session.portal, session.accountId)
  if (linked.some((one) => one.providerId === providerId)) throw conflict('the account is linked to this provider')
  return startAttempt(ports, { kind: 'LINK', providerId, returnTo, session }, context)
}

/**
 * Links the caller’s account. Other sign-ins with its password end, unless the provider allows them. Throws the refusals of
 * `finishAttempt`, or STATE.CONFLICT if the person has another account.
 */
export async function link(
  ports: ProviderPorts,
  reply: ProviderReply,
  context: CallerContext,
): Promise<LinkedIdentity> {
  const { clock, database, ids, sessionCache } = ports
  const session = assertSession(context.caller)
  const { portal, accountId } = session
  const { directory, identity } = await finishAttempt(ports, 'LINK', reply, session, context)
  const { id: providerId, issuer } = directory.settings
  const now = clock.now()
  const { linked, changed } = await inTransaction(database, async (tx) => {
    await assertSessionOpen(tx, context.caller)
    const id = ids.next<'identity'>()
    const { subject } = identity
    if (!(await insertIdentity(tx, { id, portal, issuer, subject, accountId, providerId }, now)))
      throw conflict('the person has an account, or the account a person of this provider')
    await showLinked(tx, portal, accountId, now)
    await cancelLoginAttempts(tx, portal, accountId, now)
    await applyGroups(ports, tx, directory.settings, { portal, id: accountId }, identity, now)
    const detail = { event: 'LINKED', provider: providerId, identity: id }
    await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: accountId, detail })
    await queueNotice(tx, ids, { portal, id: accountId }, 'PROVIDER_LINKED', context, now)
    const all = await identitiesOf(tx, portal, accountId)
    const linked = all.find((one) => one.id === id)
    if (!linked) throw new Error('the identity was just inserted')
    return { linked, changed: await openSessionIds(tx, portal, accountId, now) }
  })
  for (const id of changed) sessionCache.invalidate(id)
  return linked
}

/**
 * Ends the other sessions. An operator whose permissions come from groups loses them, because the account would keep them
 * for ever. Throws RESOURCE.NOT_FOUND, or STATE.CONFLICT if the account has no password to sign in with.
 */
export async function unlink(ports: ProviderPorts, providerId: string, context: CallerContext): Promise<number> {
  const { clock, database, ids, sessionCache } = ports
  const { portal, accountId, sessionId } = assertSession(context.caller)
  const now = clock.now()
  const ended = await inTransaction(database, async (tx) => {
    await assertSessionOpen(tx, context.caller)
    const account = await lockOwnAccount(tx, context.caller)
    if (!(await deleteIdentity(tx, { portal, accountId }, providerId))) throw notFound('no such identity')
    const remaining = await identitiesOf(tx, portal, accountId)
    if (remaining.length === 0 && account.passwordHash === null)
      throw conflict('the account has no password; set one first')
    await showLinked(tx, portal, accountId, now)
    await cancelLoginAttempts(tx, portal, accountId, now)
    const ending = { portal, accountId, maxRemaining: 0, except: sessionId, reason: 'TERMINATED' } as const
    const sessions = await run(tx, endOldestSessions(ending, now))
    const settings = ports.providers.known(portal, providerId)?.settings
    if (settings) await applyGroups(ports, tx, settings, account, { claims: {} }, now)
    const detail = { event: 'UNLINKED', provider: providerId, sessions: sessions.length }
    await recordSuccess(tx, auditContextOf(context), { workspaceId: null, targetId: accountId, detail })
    await queueNotice(tx, ids, { portal, id: accountId }, 'PROVIDER_UNLINKED', context, now)
    return sessions
  })
  for (const id of [...ended, sessionId]) sessionCache.invalidate(id)
  return ended.length
}
