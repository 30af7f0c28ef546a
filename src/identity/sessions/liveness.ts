import type { Database } from '../../database/index.ts'
import { type Clock, type MaybePromise, type Portal, type SessionId, thenSync } from '../../kernel/index.ts'
import { createLease } from '../../platform/cache/index.ts'
import type { IdentitySettings } from '../settings.ts'
import { type OpenSession, readOpenSession } from './store.ts'

export interface Liveness {
  /** The session as the store had it at most `livenessMs` ago, or has it now (`anew`); undefined once it has ended, or was never there. */
  find(portal: Portal, id: SessionId, anew: boolean): MaybePromise<OpenSession | undefined>
  /** Makes the next look-up go to the store: to be called once an ending or a change is committed. */
  forget(id: SessionId): void
}

/** Whether sessions live is SQL's to say; its answers serve for up to a second. */
export const createLiveness = (
  database: Database,
  clock: Clock,
  { livenessMs, remembered }: IdentitySettings['sessions'],
): Liveness => {
  const sessions = createLease<OpenSession | undefined>(clock, { ms: livenessMs, max: remembered })
  return {
    find: (portal, id, anew) => {
      if (anew) sessions.forget(id)
      return thenSync(
        sessions.read(id, () => readOpenSession(database, portal, id)),
        (session) => (session?.portal === portal ? session : undefined),
      )
    },
    forget: sessions.forget,
  }
}
