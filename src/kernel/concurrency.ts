import { Refusal } from './refusal.ts'

/** Runs a task once a slot is free; resolves with its result. */
export type RunLimited = <T>(task: () => Promise<T>) => Promise<T>

export interface ConcurrencyLimiter {
  /** Throws SYSTEM.UNAVAILABLE if the queue is full. */
  runLimited: RunLimited
  /** Returns the number of tasks in the queue. */
  waiting(): number
}

export interface ConcurrencyLimits {
  /** Maximum number of running tasks. */
  concurrency: number
  /** Maximum number of queued tasks. */
  waiting: number
}

/**
 * Returns a first-in, first-out limiter with a bounded queue. A full queue refuses further tasks with
 * SYSTEM.UNAVAILABLE.
 */
export const createConcurrencyLimiter = ({ concurrency, waiting }: ConcurrencyLimits): ConcurrencyLimiter => {
  let running = 0
  const queue: (() => void)[] = []

  const acquire = async (): Promise<void> => {
    if (running < concurrency) {
      running++
      return
    }
    if (queue.length >= waiting) {
      throw new Refusal('SYSTEM.UNAVAILABLE', { internal: 'the concurrency limiter’s queue is full', retryAfter: 1 })
    }
    await new Promise<void>((resolve) => queue.push(resolve))
  }

  /** Passes the slot to the first task in the queue, so that no new task can overtake it. */
  const release = (): void => {
    const next = queue.shift()
    if (next) next()
    else running--
  }

  return {
    waiting: () => queue.length,
    runLimited: async (task) => {
      await acquire()
      try {
        return await task()
      } finally {
        release()
      }
    },
  }
}
