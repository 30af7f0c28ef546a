import { type ClientRateLimitInfo, MemoryStore, type Options } from 'express-rate-limit'
import { type Clock, type MaybePromise, maxTimerMs } from '../../kernel/index.ts'

/**
 * express-rate-limit's MemoryStore with three changes. It returns a copy of the count: MemoryStore returns its live
 * record, which concurrent callers would all read after the last increment. It returns synchronously, because MemoryStore
 * has counted when it returns its promise. And it closes a window that ends too far in the future, because it was opened
 * before the clock was set back and would block its client until then.
 */
export class MemoryLimitStore extends MemoryStore {
  readonly #clock: Clock

  constructor(clock: Clock) {
    super()
    this.#clock = clock
  }

  override init({ windowMs }: Options): void {
    this.windowMs = windowMs
    // A timer above the maximum fires immediately and would reset the counters, so a long window is timed in parts.
    const parts = Math.ceil(windowMs / maxTimerMs)
    let passed = 0
    const part = (): void => {
      passed = (passed + 1) % parts
      if (passed > 0) return
      this.previous = this.current
      this.current = new Map()
    }
    this.interval = setInterval(part, Math.ceil(windowMs / parts)).unref()
  }

  #isAhead({ resetTime }: ClientRateLimitInfo): boolean {
    return resetTime !== undefined && resetTime.getTime() > this.#clock.now() + 2 * this.windowMs
  }

  count(key: string): MaybePromise<ClientRateLimitInfo> {
    const open = this.current.get(key) ?? this.previous.get(key)
    if (open && this.#isAhead(open)) void this.resetKey(key)
    const counted = super.increment(key)
    const counter = this.current.get(key)
    return counter ? { totalHits: counter.totalHits, resetTime: counter.resetTime } : counted
  }

  override async increment(key: string): Promise<ClientRateLimitInfo> {
    return this.count(key)
  }
}
