import type { Clock, Instant } from '../../kernel/index.ts'

/** The newest entries, for a limited time. A lookup scans all of them: only operators look up. */
export class Recent<Entry extends { at: Instant }> {
  readonly #ring: (Entry | undefined)[] = []
  readonly #clock: Clock
  readonly #limits: { entries: number; ttlMs: number }
  readonly #timer: NodeJS.Timeout
  #next = 0

  constructor(clock: Clock, limits: { entries: number; ttlMs: number }) {
    this.#clock = clock
    this.#limits = limits
    this.#timer = setInterval(() => this.#evictExpired(), limits.ttlMs).unref()
  }

  add(entry: Entry): void {
    const { entries } = this.#limits
    if (entries === 0) return
    this.#ring[this.#next] = entry
    this.#next = (this.#next + 1) % entries
  }

  /** Newest first. */
  find(matches: (entry: Entry) => boolean): Entry[] {
    return this.#ring
      .filter((each): each is Entry => each !== undefined && !this.#isExpired(each) && matches(each))
      .sort((a, b) => b.at - a.at)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #isExpired({ at }: Entry): boolean {
    return at + this.#limits.ttlMs <= this.#clock.now()
  }

  #evictExpired(): void {
    for (const [index, entry] of this.#ring.entries())
      if (entry && this.#isExpired(entry)) this.#ring[index] = undefined
  }
}
