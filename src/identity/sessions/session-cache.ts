import type { Credential } from '../../gateway/pipeline/ports.ts'
import { BatchLoader, bizId, type MaybePromise, type Portal, type SessionId, thenSync } from '../../kernel/index.ts'
import { createTtlCache } from '../../platform/cache/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { type OpenSession, readOpenSession, readOpenSessions, type SessionKey } from './store.ts'

export interface SessionCache {
  /**
   * `bypassCache` reads from the store. The caller must check the expiry. For an open stream, which is checked every
   * half second, the session is at most a quarter of a second old, and all streams share a statement.
   */
  find(portal: Portal, id: SessionId, access: SessionAccess): MaybePromise<OpenSession | undefined>
  /** Drops a session on every replica. Call this after the commit. */
  invalidate(id: SessionId): void
}

type SessionAccess = Pick<Credential, 'bypassCache' | 'isStreamOpen'>

/** With the interval of the checks, access ends within a second even if an invalidation is lost. */
export const streamMaxAgeMs = 250

const topic = 'session-changed'

/** If an invalidation is lost, the TTL limits how long a replica uses outdated data. */
export function createSessionCache(
  { database, clock, pubsub }: IdentityPorts,
  { cacheTtlMs, cacheSize }: IdentitySettings['sessions'],
): SessionCache {
  const sessions = createTtlCache<OpenSession | undefined>(clock, { ms: cacheTtlMs, max: cacheSize })
  const ofStreams = new BatchLoader(nameOf, async (keys: SessionKey[]) => {
    const found = await readOpenSessions(database, keys)
    return new Map(found.map((session) => [nameOf(session), session]))
  })
  pubsub.subscribe(topic, (id) => sessions.invalidate(bizId<'session'>(id)))
  return {
    find: (portal, id, { bypassCache, isStreamOpen }) => {
      if (bypassCache) sessions.invalidate(id)
      const found = isStreamOpen
        ? sessions.read(id, () => ofStreams.load({ portal, id }), streamMaxAgeMs)
        : sessions.read(id, () => readOpenSession(database, portal, id))
      return thenSync(found, (session) => (session?.portal === portal ? session : undefined))
    },
    invalidate: (id) => {
      sessions.invalidate(id)
      pubsub.publish(topic, id)
    },
  }
}

function nameOf({ portal, id }: SessionKey): string {
  return `${portal} ${id}`
}
