import { Refusal } from './refusal.ts'

/** Runs work when its turn comes. */
export type InTurn = <T>(work: () => Promise<T>) => Promise<T>

export interface BoundedQueue {
  inTurn: InTurn
  /** How many wait at this moment. */
  waiting(): number
}

export interface QueueLimits {
  /** How many run at once. */
  concurrency: number
  /** How many may wait; one more is refused. */
  waiting: number
}

/** Runs work a few at a time, in order; beyond the waiting room it refuses with SYSTEM.UNAVAILABLE. */
export const boundedQueue = ({ concurrency, waiting }: QueueLimits): BoundedQueue => {
  let running = 0
  const queue: (() => void)[] = []

  const enter = async (): Promise<void> => {
    if (running < concurrency) {
      running++
      return
    }
    if (queue.length >= waiting) {
      throw new Refusal('SYSTEM.UNAVAILABLE', { internal: 'the queue of costly work is full', retryAfter: 1 })
    }
    await new Promise<void>((resolve) => queue.push(resolve))
  }

  /** The place goes straight to whoever waits longest, so `running` stays as it is. */
  const leave = (): void => {
    const next = queue.shift()
    if (next) next()
    else running--
  }

  return {
    waiting: () => queue.length,
    inTurn: async (work) => {
      await enter()
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}
