import { type ClientRateLimitInfo, ipKeyGenerator, MemoryStore, type Options } from 'express-rate-limit'
import { LRUCache } from 'lru-cache'
import { addMs, type Clock, type Instant, type MaybePromise, maxTimerMs, thenSync } from '../../kernel/index.ts'

/**
 * MemoryStore with four changes. 1. Returns a copy of the count, because concurrent callers would all read the last
 * increment from the live record. 2. Returns synchronously. 3. Closes a window that ends too far in the future: the
 * clock was set back, and the window would block its client until then. 4. Continues the count of another window, because a
 * reload can change the length.
 */
class MemoryLimitStore extends MemoryStore {
  readonly #clock: Clock
  readonly #others: Iterable<LimitStore>

  /** `others` have other windows of the same limit. */
  constructor(clock: Clock, others: Iterable<LimitStore>) {
    super()
    this.#clock = clock
    this.#others = others
  }

  override init({ windowMs }: Options): void {
    this.windowMs = windowMs
    // A timer above the maximum would fire immediately, so a long window is timed in several parts.
    const parts = Math.ceil(windowMs / maxTimerMs)
    let elapsedParts = 0
    const onPart = (): void => {
      elapsedParts = (elapsedParts + 1) % parts
      if (elapsedParts > 0) return
      this.previous = this.current
      this.current = new Map()
    }
    this.interval = setInterval(onPart, Math.ceil(windowMs / parts)).unref()
  }

  #isAhead({ resetTime }: ClientRateLimitInfo): boolean {
    return resetTime !== undefined && resetTime.getTime() > this.#clock.now() + 2 * this.windowMs
  }

  #adopt(key: string): ClientRateLimitInfo | undefined {
    const now = this.#clock.now()
    for (const other of this.#others) {
      if (!(other instanceof MemoryLimitStore) || other === this) continue
      const known = other.current.get(key) ?? other.previous.get(key)
      if (!known || known.resetTime.getTime() <= now) continue
      const resetTime = new Date(Math.min(known.resetTime.getTime(), now + this.windowMs))
      const adopted = { totalHits: known.totalHits, resetTime }
      void other.resetKey(key)
      this.current.set(key, adopted)
      return adopted
    }
    return undefined
  }

  count(key: string): MaybePromise<ClientRateLimitInfo> {
    const open = this.current.get(key) ?? this.previous.get(key) ?? this.#adopt(key)
    if (open && this.#isAhead(open)) void this.resetKey(key)
    const counted = super.increment(key)
    const counter = this.current.get(key)
    return counter ? { totalHits: counter.totalHits, resetTime: counter.resetTime } : counted
  }

  override async increment(key: string): Promise<ClientRateLimitInfo> {
    return this.count(key)
  }
}

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
class Arrivals {
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

/** A fixed-window limit. */
export interface LimitRule {
  /** Maximum count per window. */
  limit: number
  /** In milliseconds. */
  windowMs: number
}

/** A limit after a count. */
export interface LimitState {
  /** Whether the count is within the limit. */
  allowed: boolean
  limit: number
  /** Further counts that the window allows. */
  remaining: number
  /** Milliseconds until the window ends. */
  resetMs: number
}

/** `name` and `key` select the counter. */
export interface Spend {
  name: string
  key: string
  rule: LimitRule
}

export interface Limits {
  /** `name` and `key` select the counter. */
  spend(name: string, key: string, rule: LimitRule): MaybePromise<LimitState>
  /** Spends in order. Stops after the first limit that does not allow the count. */
  spendAll(spends: readonly Spend[]): MaybePromise<LimitState[]>
  /** Counts in this process only, without I/O. Follows the counts of `spendAll`. */
  admit(spend: Spend): LimitState
  /** The IPv4 address, or the IPv6 /56. */
  addressKey(address: string): string
  /** /24 for IPv4, /48 for IPv6. */
  networkKey(address: string): string
  close(): void
}

/** Declared here, because the library's `Store` type requires the types of Express. */
export interface LimitStore {
  init?(options: { windowMs: number }): void
  increment(key: string): MaybePromise<{ totalHits: number; resetTime: Date | undefined }>
  shutdown?(): MaybePromise<void>
}

/** `others` are the stores of other windows of the limit. */
export type StoreFactory = (name: string, others: Iterable<LimitStore>) => LimitStore

export interface Counted {
  totalHits: number
  resetMs: number
}

/** A counter, and the count that is still allowed. */
export interface Counter {
  name: string
  key: string
  windowMs: number
  limit: number
}

/** Counts in order. Stops after the first counter above its limit. */
export type CountInOrder = (counters: readonly Counter[]) => Promise<Counted[]>

export interface SharedCounters {
  storeFor: StoreFactory
  /** Undefined if the counters can be on different servers. */
  countInOrder: CountInOrder | undefined
}

/** Providers assign prefixes of up to /56 to a customer, who can use each address of it. */
const ipv6Prefix = 56

export function scaledLimit(limit: number, scale: number): number {
  return Math.max(1, Math.floor(limit * scale))
}

/** /24 for IPv4, /48 for IPv6. */
export function networkKey(address: string): string {
  return address.includes(':') ? ipKeyGenerator(address, 48) : `${address.split('.').slice(0, 3).join('.')}.0/24`
}

/**
 * Portals may configure different windows, so there is one store per limit and window. A reload can change `scale()` and
 * the rules.
 */
export function createLimits(
  scale: () => number,
  clock: Clock,
  { storeFor, countInOrder }: SharedCounters = {
    storeFor: (_, others) => new MemoryLimitStore(clock, others),
    countInOrder: undefined,
  },
): Limits {
  const stores = new Map<string, Map<number, LimitStore>>()
  const arrivals = new Arrivals(clock)
  const open = (name: string, windowMs: number): LimitStore => {
    const windows = stores.get(name) ?? new Map<number, LimitStore>()
    const store = storeFor(name, { [Symbol.iterator]: () => windows.values() })
    store.init?.({ windowMs })
    stores.set(name, windows.set(windowMs, store))
    return store
  }
  const toState = (rule: LimitRule, { totalHits, resetMs }: Counted): LimitState => {
    const limit = scaledLimit(rule.limit, scale())
    return { allowed: totalHits <= limit, limit, remaining: Math.max(0, limit - totalHits), resetMs }
  }
  const leftMs = ({ windowMs }: LimitRule, resetTime: Date | undefined): number =>
    resetTime ? Math.max(0, resetTime.getTime() - clock.now()) : windowMs
  const spend: Limits['spend'] = (name, key, rule) => {
    const store = stores.get(name)?.get(rule.windowMs) ?? open(name, rule.windowMs)
    const counted = store instanceof MemoryLimitStore ? store.count(key) : store.increment(key)
    return thenSync(counted, ({ totalHits, resetTime }) =>
      toState(rule, { totalHits, resetMs: leftMs(rule, resetTime) }),
    )
  }
  const spendFrom = (spends: readonly Spend[], states: LimitState[]): MaybePromise<LimitState[]> => {
    const next = spends[states.length]
    if (!next) return states
    return thenSync(spend(next.name, next.key, next.rule), (state) => {
      states.push(state)
      return state.allowed ? spendFrom(spends, states) : states
    })
  }
  const spendTogether = async (spends: readonly Spend[], count: CountInOrder): Promise<LimitState[]> => {
    const counters = spends.map(({ name, key, rule: { limit, windowMs } }) => ({
      name,
      key,
      windowMs,
      limit: scaledLimit(limit, scale()),
    }))
    const states: LimitState[] = []
    for (const counted of await count(counters)) {
      const spent = spends[states.length]
      if (spent) states.push(toState(spent.rule, counted))
    }
    return states
  }
  const follow = (spends: readonly Spend[], states: LimitState[]): LimitState[] => {
    for (let index = 0; index < states.length; index++) {
      const [spent, state] = [spends[index], states[index]]
      if (spent && state) arrivals.follow(idOf(spent), state)
    }
    return states
  }
  return {
    spend,
    spendAll: (spends) =>
      countInOrder && spends.length > 1
        ? spendTogether(spends, countInOrder).then((states) => follow(spends, states))
        : thenSync(spendFrom(spends, []), (states) => follow(spends, states)),
    admit: (spend) => arrivals.count(idOf(spend), scaledLimit(spend.rule.limit, scale()), spend.rule.windowMs),
    addressKey,
    networkKey,
    close: () => {
      for (const windows of stores.values()) for (const store of windows.values()) store.shutdown?.()
    },
  }
}

function idOf({ name, key }: Spend): string {
  return `${name} ${key}`
}

function addressKey(address: string): string {
  return address.includes(':') ? ipKeyGenerator(address, ipv6Prefix) : address
}
