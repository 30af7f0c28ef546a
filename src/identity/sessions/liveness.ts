import { LRUCache } from 'lru-cache'
import type { Clock, Instant, Portal, SessionId } from '../../kernel/index.ts'
import type { Database } from '../../platform/database/index.ts'
import type { IdentitySettings } from '../settings.ts'
import { type OpenSession, readOpenSession } from './store.ts'

export interface Liveness {
  /** The session as the store had it at most `livenessMs` ago; undefined once it has ended, or was never there. */
  find(portal: Portal, id: SessionId): Promise<OpenSession | undefined>
  /** Makes the next look-up go to the store: to be called once an ending or a change is committed. */
  forget(id: SessionId): void
}

interface Answer {
  session: Promise<OpenSession | undefined>
  askedAt: Instant
}

/**
 * Whether sessions live is SQL's to say; its answers serve for up to a second. An answer counts from when it was asked
 * for, and one that was under way when its session was forgotten is not used again.
 */
export const createLiveness = (
  database: Database,
  clock: Clock,
  { livenessMs, remembered }: IdentitySettings['sessions'],
): Liveness => {
  const answers = new LRUCache<string, Answer>({ max: remembered })
  return {
    find: (portal, id) => {
      const known = answers.get(id)
      const age = known ? clock.now() - known.askedAt : Number.NaN
      if (known && age >= 0 && age < livenessMs) {
        return known.session.then((session) => (session?.portal === portal ? session : undefined))
      }
      const answer = { session: readOpenSession(database, portal, id), askedAt: clock.now() }
      answers.set(id, answer)
      answer.session.catch(() => {
        if (answers.get(id) === answer) answers.delete(id)
      })
      return answer.session
    },
    forget: (id) => void answers.delete(id),
  }
}
