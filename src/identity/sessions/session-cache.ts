import { bizId, type MaybePromise, type Portal, type SessionId, thenSync } from '../../kernel/index.ts'
import { createTtlCache } from '../../platform/cache/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { type OpenSession, readOpenSession } from './store.ts'

/** Caches open sessions on each replica for up to 1 second. */
export interface SessionCache {
  /**
   * Returns an open session, at most `cacheTtlMs` old, or read from the store with `bypassCache`. Returns undefined if
   * it has ended or does not exist. The caller must check its expiry.
   */
  find(portal: Portal, id: SessionId, bypassCache: boolean): MaybePromise<OpenSession | undefined>
  /** Drops a session on every replica. Call it after a change is committed. */
  invalidate(id: SessionId): void
}

const topic = 'session-changed'

/** Creates the cache. Invalidations are published to all replicas; if a message is lost, the TTL limits the staleness. */
export const createSessionCache = (
  { database, clock, pubsub }: IdentityPorts,
  { cacheTtlMs, cacheSize }: IdentitySettings['sessions'],
): SessionCache => {
  const sessions = createTtlCache<OpenSession | undefined>(clock, { ms: cacheTtlMs, max: cacheSize })
  pubsub.subscribe(topic, (id) => sessions.invalidate(bizId<'session'>(id)))
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
      pubsub.publish(topic, id)
    },
  }
}
