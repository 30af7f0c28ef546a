import { LRUCache } from 'lru-cache'
import { areWithin, type Clock, days, type Instant } from '../../kernel/index.ts'
import { networkKey } from '../../platform/limits/index.ts'

const retentionMs = days(7)
const maxNetworks = 10_000

/**
 * Networks from which this process completed a sign-in in the last week. They and known devices are served first. In
 * memory, because known devices are in the database, and a replica learns its networks within minutes.
 */
export class KnownNetworks {
  readonly #clock: Clock
  readonly #seen = new LRUCache<string, Instant>({ max: maxNetworks })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(clientIp: string): void {
    this.#seen.set(networkKey(clientIp), this.#clock.now())
  }

  has(clientIp: string): boolean {
    const seenAt = this.#seen.get(networkKey(clientIp))
    return seenAt !== undefined && areWithin(retentionMs, seenAt, this.#clock.now())
  }
}
