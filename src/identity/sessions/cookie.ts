import type { Tx } from '../../database/index.ts'
import type { Caller, Instant } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import { mintToken } from '../tokens/rules.ts'
import { lockCookie, replaceCookie } from './cookie-store.ts'
import { assertSession, isEqual } from './rules.ts'

/**
 * Replaces the cookie of the caller's session, and returns the new value. Returns undefined for a session that has tokens.
 * Of parallel requests with one value, only the first replaces it: otherwise the browser could keep the value of the reply
 * that arrives last, although another one is newer.
 */
export async function rotateCookie(
  { digest, randomness }: Pick<IdentityPorts, 'digest' | 'randomness'>,
  tx: Tx,
  caller: Caller,
  at: Instant,
): Promise<string | undefined> {
  if (!caller.cookieDigest) return undefined
  const session = assertSession(caller)
  const current = await lockCookie(tx, session)
  if (!current || !isEqual(current.digest, caller.cookieDigest)) return undefined
  const value = mintToken(randomness)
  const { digest: from, expiresAt } = current
  await replaceCookie(tx, session, { from, to: digest('session-cookie', value), expiresAt }, at)
  return value
}
