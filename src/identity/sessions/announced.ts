import { bizId } from '../../kernel/index.ts'
import type { Announcements } from '../../platform/pubsub/index.ts'
import type { Liveness } from './liveness.ts'

/** What one replica forgets, all forget. Where the news is lost, a replica still believes for a second at most. */
export const announced = (liveness: Liveness, announcements: Announcements): Liveness => {
  announcements.listen('session-changed', (id) => liveness.forget(bizId(id)))
  return {
    find: liveness.find,
    forget: (id) => {
      liveness.forget(id)
      announcements.announce('session-changed', id)
    },
  }
}
