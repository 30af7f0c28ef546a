import { inspect } from 'node:util'
import { z } from 'zod'
import { days } from '../kernel/index.ts'

/** Node's timers hold 24 days, and one that is asked for more fires at once. Two of these, and some seconds, are less. */
const maxTimeoutMs = days(10)

/** A hundred years: a moment that lies so far ahead still has a year of four digits, in the store and in answers. */
const maxLifetimeMs = days(36_500)

/** What is waited for: a deadline, a pause, the time between two looks. */
export const timeoutMs = (leastMs: number) => z.int().min(leastMs).max(maxTimeoutMs)

/** What moments are reckoned by: how long something is good or kept. */
export const lifetimeMs = (leastMs: number) => z.int().min(leastMs).max(maxLifetimeMs)

const mask = '[secret]'

/** Key material or a connection string that cannot be printed by accident: only `reveal` hands it out. */
export class Secret<T> {
  readonly #value: T

  constructor(value: T) {
    this.#value = value
  }

  reveal(): T {
    return this.#value
  }

  toString(): string {
    return mask
  }

  toJSON(): string {
    return mask
  }

  [inspect.custom](): string {
    return mask
  }
}
