import type { Credential } from '../../gateway/pipeline/ports.ts'
import { bizId, type MaybePromise, type Portal, type SessionId, thenSync } from '../../kernel/index.ts'
import { createTtlCache } from '../../platform/cache/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { type OpenSession, readOpenSession } from './store.ts'

export interface SessionCache {
  /**
   * `bypassCache` reads from the store. The caller must check the expiry. For an open stream, which is checked every
   * half second, the session is at most half a second old.
   */
  find(portal: Portal, id: SessionId, access: SessionAccess): MaybePromise<OpenSession | undefined>
  /** Drops a session on every replica. Call this after the commit. */
  invalidate(id: SessionId): void
}

type SessionAccess = Pick<Credential, 'bypassCache' | 'isStreamOpen'>

const streamMaxAgeMs = 500

const topic = 'session-changed'

/** If an invalidation is lost, the TTL limits how long a replica uses outdated data. */
export function createSessionCache(
  { database, clock, pubsub }: IdentityPorts,
  { cacheTtlMs, cacheSize }: IdentitySettings['sessions'],
): SessionCache {
  const sessions = createTtlCache<OpenSession | undefined>(clock, { ms: cacheTtlMs, max: cacheSize })
  pubsub.subscribe(topic, (id) => sessions.invalidate(bizId<'session'>(id)))
  return {
    find: (portal, id, { bypassCache, isStreamOpen }) => {
      if (bypassCache) sessions.invalidate(id)
      return thenSync(
        sessions.read(id, () => readOpenSession(database, portal, id), isStreamOpen ? streamMaxAgeMs : cacheTtlMs),
        (session) => (session?.portal === portal ? session : undefined),
      )
    },
    invalidate: (id) => {
      sessions.invalidate(id)
      pubsub.publish(topic, id)
    },
  }
}
