import { ipKeyGenerator, type Store } from 'express-rate-limit'
import { type Clock, type MaybePromise, thenSync } from '../../kernel/index.ts'
import { CountingStore } from './counting-store.ts'

export { redisCounters } from './redis-counters.ts'

interface Rule {
  limit: number
  windowMs: number
}

interface Spent {
  allowed: boolean
  limit: number
  remaining: number
  resetMs: number
}

export interface Limits {
  spend(name: string, key: string, rule: Rule): MaybePromise<Spent>
  addressKey(address: string, ipv6Prefix: number): string
  networkKey(address: string): string
  close(): void
}

/** A store of one limit's counters in one window, in memory; on Redis the same limit is shared by every replica. */
export type StoreFactory = (name: string) => Store

/** A limit times PORTICO_RATE_LIMIT_SCALE; the smallest is one. */
export const scaledLimit = (limit: number, scale: number): number => Math.max(1, Math.floor(limit * scale))

/**
 * express-rate-limit's stores behind a plain function, one store for each window of a limit: a store has one window for all
 * of its keys, and portals may give the same limit different ones. `scale` multiplies every limit
 * (PORTICO_RATE_LIMIT_SCALE). A store that fails throws, and so the request fails.
 */
export const createLimits = (
  scale: number,
  clock: Clock,
  storeFor: StoreFactory = () => new CountingStore(clock),
): Limits => {
  const stores = new Map<string, Map<number, Store>>()
  const open = (name: string, windowMs: number): Store => {
    const store = storeFor(name)
    // The stores read nothing of the middleware's options but the window.
    store.init?.({ windowMs } as Parameters<NonNullable<Store['init']>>[0])
    const others = stores.get(name) ?? new Map<number, Store>()
    stores.set(name, others.set(windowMs, store))
    return store
  }
  return {
    spend: (name, key, rule) => {
      const store = stores.get(name)?.get(rule.windowMs) ?? open(name, rule.windowMs)
      const counted = store instanceof CountingStore ? store.count(key) : store.increment(key)
      return thenSync(counted, ({ totalHits, resetTime }) => {
        const limit = scaledLimit(rule.limit, scale)
        const resetMs = resetTime ? Math.max(0, resetTime.getTime() - clock.now()) : rule.windowMs
        return { allowed: totalHits <= limit, limit, remaining: Math.max(0, limit - totalHits), resetMs }
      })
    },
    addressKey: (address, ipv6Prefix) => {
      // An IPv4 address is its own key; only IPv6 has to be cut to its prefix.
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
