import type { Clock, Instant } from '../../kernel/index.ts'
import type { Difference } from './compare.ts'

/** One kind of difference at one place of one operation. */
export interface SampledDifference extends Difference {
  operation: string
  count: number
  firstAt: Instant
  lastAt: Instant
}

const maxSamples = 100

/** The differences of one shadow, in memory. Contains no values and no ids. */
export class DifferenceLog {
  readonly #clock: Clock
  readonly #samples = new Map<string, SampledDifference>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(operation: string, { kind, path }: Difference): void {
    const key = `${operation} ${kind} ${path}`
    const now = this.#clock.now()
    const known = this.#samples.get(key)
    // A map iterates in the order of insertion: the difference that was seen longest ago comes first.
    this.#samples.delete(key)
    if (known === undefined && this.#samples.size >= maxSamples) {
      const [oldest = ''] = this.#samples.keys()
      this.#samples.delete(oldest)
    }
    const { count = 0, firstAt = now } = known ?? {}
    this.#samples.set(key, { operation, kind, path, count: count + 1, firstAt, lastAt: now })
  }

  /** The latest first. */
  list(): SampledDifference[] {
    return [...this.#samples.values()].reverse()
  }
}
