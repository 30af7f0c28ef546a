import { type BoundedQueue, boundedQueue, type QueueLimits } from '../../kernel/index.ts'

/** Concurrency limits of login steps. */
export interface LoginConcurrency {
  firstStep: BoundedQueue
  laterSteps: BoundedQueue
}

/**
 * Limits concurrent login steps so that logins cannot starve signed-in users of database connections and CPU. Later steps
 * have a limit of their own, so that new logins cannot block pending ones.
 */
export const createLoginConcurrency = (limits: QueueLimits): LoginConcurrency => ({
  firstStep: boundedQueue(limits),
  laterSteps: boundedQueue(limits),
})
