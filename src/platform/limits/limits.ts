import { type ClientRateLimitInfo, ipKeyGenerator, MemoryStore, type Options, type Store } from 'express-rate-limit'
import { type Clock, type MaybePromise, maxTimerMs, thenSync } from '../../kernel/index.ts'

/**
 * express-rate-limit's MemoryStore with three changes. It returns a copy of the count: MemoryStore returns its live
 * record, which concurrent callers would all read after the last increment. It returns synchronously: MemoryStore has
 * counted before its promise resolves. And it closes a window that ends too far in the future: the window was opened before
 * the clock was set back, and would block its client until then.
 */
class MemoryLimitStore extends MemoryStore {
  readonly #clock: Clock

  constructor(clock: Clock) {
    super()
    this.#clock = clock
  }

  override init({ windowMs }: Options): void {
    this.windowMs = windowMs
    // A timer above the maximum would fire immediately and reset the counters, so a long window is timed in several
    // parts.
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

interface Rule {
  limit: number
  windowMs: number
}

interface LimitState {
  allowed: boolean
  limit: number
  remaining: number
  resetMs: number
}

/** Counts requests against rate limits. */
export interface Limits {
  /** Counts a request against a limit. `name` and `key` select the counter. */
  spend(name: string, key: string, rule: Rule): MaybePromise<LimitState>
  /** Returns the key of a client address. IPv6 addresses are cut to a prefix of `ipv6Prefix` bits. */
  addressKey(address: string, ipv6Prefix: number): string
  /** Returns the key of a client's network: /24 for IPv4, /48 for IPv6. */
  networkKey(address: string): string
  close(): void
}

/** Creates the counters of one limit and window: in memory for this process, in Redis for all replicas. */
export type StoreFactory = (name: string) => Store

/** Returns a limit multiplied by PORTICO_RATE_LIMIT_SCALE, at least 1. */
export const scaledLimit = (limit: number, scale: number): number => Math.max(1, Math.floor(limit * scale))

/**
 * Creates rate limits on express-rate-limit's stores: one store per limit and window, because portals may configure
 * different windows. `scale` multiplies every limit (PORTICO_RATE_LIMIT_SCALE). If a store fails, `spend` rejects and the
 * request fails.
 */
export const createLimits = (
  scale: number,
  clock: Clock,
  storeFor: StoreFactory = () => new MemoryLimitStore(clock),
): Limits => {
  const stores = new Map<string, Map<number, Store>>()
  const open = (name: string, windowMs: number): Store => {
    const store = storeFor(name)
    // The stores read only the window from the middleware's options.
    store.init?.({ windowMs } as Parameters<NonNullable<Store['init']>>[0])
    const others = stores.get(name) ?? new Map<number, Store>()
    stores.set(name, others.set(windowMs, store))
    return store
  }
  return {
    spend: (name, key, rule) => {
      const store = stores.get(name)?.get(rule.windowMs) ?? open(name, rule.windowMs)
      const counted = store instanceof MemoryLimitStore ? store.count(key) : store.increment(key)
      return thenSync(counted, ({ totalHits, resetTime }) => {
        const limit = scaledLimit(rule.limit, scale)
        const resetMs = resetTime ? Math.max(0, resetTime.getTime() - clock.now()) : rule.windowMs
        return { allowed: totalHits <= limit, limit, remaining: Math.max(0, limit - totalHits), resetMs }
      })
    },
    addressKey: (address, ipv6Prefix) => {
      // Only IPv6 addresses are truncated to a prefix.
      if (!address.includes(':')) return address
      return ipKeyGenerator(address, ipv6Prefix)
    },
    networkKey: (address) =>
      address.includes(':') ? ipKeyGenerator(address, 48) : `${address.split('.').slice(0, 3).join('.')}.0/24`,
    close: () => {
      for (const windows of stores.values()) for (const store of windows.values()) store.shutdown?.()
    },
  }
}
