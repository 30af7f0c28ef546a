import { LRUCache } from 'lru-cache'
import { addMs, type Clock, type Instant } from '../../kernel/index.ts'
import type { LimitState } from './limits.ts'

interface Window {
  count: number
  endsAt: Instant
}

/** About 10 MB. A client whose window was evicted still has its shared counter. */
const maxWindows = 50_000

/**
 * Counts what arrives at this process, without I/O. A result of the shared counter replaces the count, so the two differ
 * only by the requests that are not counted yet. Without results, because Redis is unavailable, this count remains.
 */
export class Arrivals {
  readonly #clock: Clock
  readonly #windows = new LRUCache<string, Window>({ max: maxWindows })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  count(id: string, limit: number, windowMs: number): LimitState {
    const now = this.#clock.now()
    const known = this.#windows.get(id)
    // A window ends later than a new one if the clock was set back.
    const isOpen = known !== undefined && known.endsAt > now && known.endsAt <= now + windowMs
    const window = isOpen ? known : { count: 0, endsAt: addMs(now, windowMs) }
    if (!isOpen) this.#windows.set(id, window)
    window.count += 1
    const remaining = Math.max(0, limit - window.count)
    return { allowed: window.count <= limit, limit, remaining, resetMs: window.endsAt - now }
  }

  follow(id: string, { limit, remaining, resetMs }: LimitState): void {
    const window = this.#windows.get(id)
    if (!window) return
    window.count = limit - remaining
    window.endsAt = addMs(this.#clock.now(), resetMs)
  }
}
