import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { moment, validAt } from '../../database/index.ts'
import type { Instant } from '../../kernel/index.ts'

export interface SessionTimes {
  lastActivityAt: Instant
  idleExpiresAt: Instant
  expiresAt: Instant
}

/**
 * Whether a session's times hold. One that was used further ahead than it may be idle was so before the clock was set
 * back, which prolongs nothing: it has run out.
 */
export const hasRunOut = ({ lastActivityAt, idleExpiresAt, expiresAt }: SessionTimes, now: Instant): boolean =>
  expiresAt <= now || idleExpiresAt <= now || lastActivityAt - (idleExpiresAt - lastActivityAt) > now

/** The opposite, as the store judges it. */
export const isRunning = (now: Instant | RawBuilder<Date>): RawBuilder<SqlBool> =>
  sql<SqlBool>`(expires_at > ${moment(now)} AND ${validAt('last_activity_at', 'idle_expires_at', now)})`
