import { setTimeout as pause } from 'node:timers/promises'
import type { Database } from '../../database/index.ts'
import type { Clock, MaybePromise, SessionId } from '../../kernel/index.ts'
import { createTtlCache } from '../../platform/cache/index.ts'
import type { OwnSession } from '../sessions/rules.ts'
import type { IdentitySettings } from '../settings.ts'
import { type RecentStepUp, recentStepUps } from './store.ts'

/** Remembers which sessions have no recent step-up, because most commands with `stepUp: 'maybe'` have none. */
export interface StepUpAbsence {
  /** Reads the step-ups of a session, unless it had none within the lease. */
  recent(session: OwnSession): MaybePromise<readonly RecentStepUp[]>
  /** Call this after the attempt to record a step-up, which can have been committed although it failed. */
  forget(id: SessionId): void
  /** Resolves once every replica finds a step-up that was recorded before the call. */
  settle(): Promise<void>
}

/** Like the cache of memberships (decision 8): the response to a step-up waits until the entries of other replicas have expired. */
export function createStepUpAbsence(
  { clock, database }: { clock: Clock; database: Database },
  { cacheSize, lease }: Pick<IdentitySettings['sessions'], 'cacheSize' | 'lease'>,
): StepUpAbsence {
  const known = createTtlCache<readonly RecentStepUp[]>(clock, { ms: lease.ms, max: cacheSize })
  const read = async (session: OwnSession): Promise<readonly RecentStepUp[]> => {
    const found = await recentStepUps(database, session, clock.now())
    if (found.length > 0) known.invalidate(session.sessionId)
    return found
  }
  return {
    recent: (session) => known.read(session.sessionId, () => read(session)),
    forget: (id) => known.invalidate(id),
    settle: async () => {
      if (lease.shared) await pause(lease.ms)
    },
  }
}
