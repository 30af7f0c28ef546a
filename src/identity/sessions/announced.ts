import { bizId } from '../../kernel/index.ts'
import type { PubSub } from '../../platform/pubsub.ts'
import type { Liveness } from './liveness.ts'

/** What one replica forgets, all forget. Where the news is lost, a replica still believes for a second at most. */
export const announced = (liveness: Liveness, announcements: PubSub): Liveness => {
  announcements.subscribe('session-changed', (id) => liveness.forget(bizId(id)))
  return {
    find: liveness.find,
    forget: (id) => {
      liveness.forget(id)
      announcements.publish('session-changed', id)
    },
  }
}
