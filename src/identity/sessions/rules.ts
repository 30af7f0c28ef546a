import { isValidAt } from '../../database/index.ts'
import { type AccountId, type Caller, type Instant, type Portal, Refusal, type SessionId } from '../../kernel/index.ts'

/** The session of a request. */
export interface OwnSession {
  portal: Portal
  accountId: AccountId
  sessionId: SessionId
}

/** Returns the caller's session. Throws ACCESS.TOKEN_INVALID for an API key, which has none. */
export const assertSession = ({ portal, accountId, sessionId }: Caller): OwnSession => {
  if (sessionId === null) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'an API key has no session' })
  return { portal, accountId, sessionId }
}

/** The times that determine when a session expires. */
export interface SessionTimes {
  lastActivityAt: Instant
  idleExpiresAt: Instant
  expiresAt: Instant
}

/** Whether a session has expired. `isUnexpired` in store.ts is the same rule in SQL. */
export const hasExpired = ({ lastActivityAt, idleExpiresAt, expiresAt }: SessionTimes, now: Instant): boolean =>
  expiresAt <= now || !isValidAt({ from: lastActivityAt, until: idleExpiresAt }, now)
