import { type ClientRateLimitInfo, MemoryStore, type Options } from 'express-rate-limit'
import { type Clock, type MaybePromise, maxTimerMs } from '../../kernel/index.ts'

/**
 * MemoryStore answers with its live record, which later callers have counted up by the time it is read: of many that
 * come in the same moment all would be told the last one's number. This one answers with the number of its caller, and
 * at once: MemoryStore has counted when it returns its promise. A window that lies ahead by more than its whole time was
 * opened before the clock was set back, and is over: whoever comes often would else be refused until the clock is there again.
 */
export class CountingStore extends MemoryStore {
  readonly #clock: Clock

  constructor(clock: Clock) {
    super()
    this.#clock = clock
  }

  override init({ windowMs }: Options): void {
    this.windowMs = windowMs
    // A timer that fired at once would forget what was counted.
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
