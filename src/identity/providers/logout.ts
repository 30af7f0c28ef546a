import { inTransaction } from '../../database/index.ts'
import { addMs, type Portal, Refusal } from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { cancelLoginAttempts, cancelProvidedAttempts } from '../attempts/store.ts'
import type { CallerContext } from '../ports.ts'
import { assertSession } from '../sessions/rules.ts'
import { logout } from '../sessions/service.ts'
import { rulesOf } from '../settings.ts'
import type { ProviderPorts } from './ports.ts'
import type { ProviderDirectory } from './protocol/directory.ts'
import { endSessionUrl, maxLogoutAgeSeconds, refused, verifyLogoutToken } from './protocol/exchange.ts'
import { tokenContext } from './sealed.ts'
import { endProviderSessions, identityOf, providerOfSession, spendLogoutToken } from './store.ts'

/** The action of the audit entries. */
const backChannelLogout = 'providers.backChannelLogout'

export interface LogoutNotice {
  portal: Portal
  providerId: string
  logoutToken: string
  requestId: string
  clientIp: string
}

/**
 * Ends the sessions that the token names, by `sid` or `sub`, on every replica. Returns their number. Throws
 * AUTH.PROVIDER_REFUSED for a token that is not valid or was used before, and AUTH.PROVIDER_UNAVAILABLE.
 */
export async function endSessionsByProvider(
  ports: ProviderPorts,
  { portal, providerId, logoutToken, requestId, clientIp }: LogoutNotice,
): Promise<number> {
  const { clock, database, sessionCache } = ports
  const directory = ports.providers.find(portal, providerId)
  const { issuer } = directory.settings
  const now = clock.now()
  const claims = await verifyLogoutToken(directory, logoutToken, now)
  const ended = await inTransaction(database, async (tx) => {
    // Longer than the token is accepted, whose clock can differ.
    const expiresAt = addMs(now, 2 * maxLogoutAgeSeconds * 1_000)
    if (!(await spendLogoutToken(tx, { portal, providerId, tokenId: claims.jti, expiresAt })))
      throw refused('the logout token was used before')
    const { sub, sid = null } = claims
    const person = sub === undefined ? undefined : await identityOf(tx, { portal, issuer, subject: sub })
    const accountId = person?.accountId ?? null
    if (accountId !== null) await cancelLoginAttempts(tx, portal, accountId, now)
    if (sid !== null) await cancelProvidedAttempts(tx, { portal, providerId, sid }, now)
    if (accountId === null && sid === null) return []
    const sessions = await endProviderSessions(tx, { portal, providerId, sid, accountId }, now)
    for (const session of sessions) {
      const context: AuditContext = {
        ...{ operationId: backChannelLogout, accountId: session.accountId, apiKeyId: null, portal },
        ...{ at: now, requestId, clientIp },
      }
      const detail = { provider: providerId, by: sid === null ? 'sub' : 'sid' }
      await recordSuccess(tx, context, { workspaceId: null, targetId: session.id, detail })
    }
    return sessions
  })
  for (const { id } of ended) sessionCache.invalidate(id)
  return ended.length
}

export interface ProviderLogout {
  terminatedSessions: number
  endSessionUrl: string | null
}

/** Ends the caller's session, even if the provider is unavailable. */
export async function logoutAtProvider(ports: ProviderPorts, context: CallerContext): Promise<ProviderLogout> {
  const { portal, accountId, sessionId } = assertSession(context.caller)
  const found = await providerOfSession(ports.database, portal, sessionId)
  const idToken = found?.token ? openToken(ports, tokenContext(portal, accountId), found.token) : null
  const terminatedSessions = await logout(ports, context)
  const directory = ports.providers.known(portal, found?.providerId ?? null)
  if (!directory || !found) return { terminatedSessions, endSessionUrl: null }
  return { terminatedSessions, endSessionUrl: await urlOf(ports, directory, portal, idToken) }
}

/** Null for a token under a removed secret key: the provider then asks the person, and the session ends here in any case. */
function openToken({ secretBox }: ProviderPorts, context: string, sealed: Uint8Array): string | null {
  try {
    return Buffer.from(secretBox.open('provider-token', context, sealed)).toString()
  } catch {
    return null
  }
}

async function urlOf(
  { settings }: ProviderPorts,
  directory: ProviderDirectory,
  portal: Portal,
  idToken: string | null,
): Promise<string | null> {
  try {
    return await endSessionUrl(directory, { idToken, returnTo: rulesOf(settings, portal).links.signIn })
  } catch (error) {
    if (error instanceof Refusal) return null
    throw error
  }
}
