import { inspect } from 'node:util'
import { z } from 'zod'
import { days } from '../kernel/index.ts'

/** Node's timers fire immediately beyond 24 days; the sum of two timeouts stays below that. */
const maxTimeoutMs = days(10)

/** A hundred years, so that expiry times keep four-digit years. */
const maxLifetimeMs = days(36_500)

/** A timeout, pause or interval in milliseconds. */
export const timeoutMs = (minMs: number) => z.int().min(minMs).max(maxTimeoutMs)

/** A lifetime or retention time in milliseconds. */
export const lifetimeMs = (minMs: number) => z.int().min(minMs).max(maxLifetimeMs)

const mask = '[secret]'

/** A secret that cannot be printed by accident. `reveal` returns it. */
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
