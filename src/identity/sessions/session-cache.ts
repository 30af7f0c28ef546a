import { bizId, type MaybePromise, type Portal, type SessionId, thenSync } from '../../kernel/index.ts'
import { createTtlCache } from '../../platform/cache/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { type OpenSession, readOpenSession } from './store.ts'

/** Open sessions, cached on each replica for up to a second. */
export interface SessionCache {
  /**
   * Returns a session, at most `cacheTtlMs` old, or as stored now with `bypassCache`. Undefined if it has ended or never
   * existed. The caller checks its expiry.
   */
  find(portal: Portal, id: SessionId, bypassCache: boolean): MaybePromise<OpenSession | undefined>
  /** Drops a session on every replica. Call after a change is committed. */
  invalidate(id: SessionId): void
}

const topic = 'session-changed'

/** Invalidation is published to all replicas. If a message is lost, the TTL limits how long a stale session is served. */
export const createSessionCache = (
  { database, clock, announcements }: IdentityPorts,
  { cacheTtlMs, cacheSize }: IdentitySettings['sessions'],
): SessionCache => {
  const sessions = createTtlCache<OpenSession | undefined>(clock, { ms: cacheTtlMs, max: cacheSize })
  announcements.subscribe(topic, (id) => sessions.invalidate(bizId<'session'>(id)))
  return {
    find: (portal, id, bypassCache) => {
      if (bypassCache) sessions.invalidate(id)
      return thenSync(
        sessions.read(id, () => readOpenSession(database, portal, id)),
        (session) => (session?.portal === portal ? session : undefined),
      )
    },
    invalidate: (id) => {
      sessions.invalidate(id)
      announcements.publish(topic, id)
    },
  }
}
