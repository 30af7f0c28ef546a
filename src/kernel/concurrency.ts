import { Refusal } from './refusal.ts'

/**
 * A value that is there already, or a promise of it. Most of what a request needs is remembered, and a dozen awaits for
 * values that are there would cost as much as the work between them.
 */
export type MaybePromise<T> = T | Promise<T>

/** Goes on with a value at once where it is there, and otherwise when it comes. */
export const thenSync = <T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> =>
  value instanceof Promise ? value.then(next) : next(value)

/** Runs work when its turn comes. */
export type RunLimited = <T>(work: () => Promise<T>) => Promise<T>

export interface ConcurrencyLimiter {
  runLimited: RunLimited
  /** How many wait at this moment. */
  waiting(): number
}

export interface ConcurrencyLimits {
  /** How many run at once. */
  concurrency: number
  /** How many may wait; one more is refused. */
  waiting: number
}

/** Runs work a few at a time, in order; beyond the waiting room it refuses with SYSTEM.UNAVAILABLE. */
export const createConcurrencyLimiter = ({ concurrency, waiting }: ConcurrencyLimits): ConcurrencyLimiter => {
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
    runLimited: async (work) => {
      await enter()
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}
