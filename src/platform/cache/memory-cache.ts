import { LRUCache } from 'lru-cache'
import { isValidAt, type Validity } from '../../database/index.ts'
import { addMs, type Clock, type Instant, Refusal } from '../../kernel/index.ts'
import type { Cache, WindowName } from './cache.ts'

/** The highest spent number, and a bit for each number below it (RFC 4303, section 3.4.3). */
export interface ReplayWindow {
  highest: number
  /** Bit n: whether `highest - n` is spent. */
  bits: bigint
}

export const emptyWindow: ReplayWindow = { highest: 0, bits: 0n }

/** Undefined if the number is spent, too old, or not a positive integer. */
export function spendIn(window: ReplayWindow, sequence: number, size: number): ReplayWindow | undefined {
  if (!Number.isSafeInteger(sequence) || sequence < 1) return undefined
  const age = window.highest - sequence
  if (age >= size) return undefined
  if (age >= 0) {
    const bit = 1n << BigInt(age)
    return window.bits & bit ? undefined : { highest: window.highest, bits: window.bits | bit }
  }
  const moved = -age >= size ? 0n : BigInt.asUintN(size, window.bits << BigInt(-age))
  return { highest: sequence, bits: moved | 1n }
}

interface WindowGroup {
  epoch: string
  joined: number
  /** A closed window is null. */
  windows: Map<string, ReplayWindow | null>
}

interface Entry extends Validity {
  value: number | string | WindowGroup
}

/** No insert must remove all entries of a burst. */
const maxEvictions = 10

/** Evicts the least recently used entry beyond `maximumEntries`. */
export function createMemoryCache(clock: Clock, maximumEntries: number): Cache {
  // The option `max` would allocate all entries in advance.
  const entries = new LRUCache<string, Entry>({ maxSize: maximumEntries, sizeCalculation: () => 1 })

  /** Times of expiry, in the order of the claims. All claims have the same lifetime. */
  const claims = new Map<string, Instant>()

  const findLive = (key: string): Entry | undefined => {
    const entry = entries.get(key)
    if (entry && isValidAt(entry, clock.now())) return entry
    if (entry) entries.delete(key)
    return undefined
  }
  /** The least recently used entry is usually the first to expire. */
  const evictExpired = (now: Instant): void => {
    let evicted = 0
    for (const key of entries.rkeys()) {
      const entry = entries.peek(key)
      if (evicted++ === maxEvictions || (entry && isValidAt(entry, now))) return
      entries.delete(key)
    }
  }
  const store = (key: string, value: Entry['value'], ttl: number): void => {
    const at = clock.now()
    evictExpired(at)
    entries.set(key, { value, from: at, until: addMs(at, ttl) })
  }

  const findGroup = (key: string): WindowGroup | undefined => {
    const value = findLive(key)?.value
    return typeof value === 'object' ? value : undefined
  }
  const groupOf = ({ group, epoch }: WindowName): WindowGroup | undefined => {
    const known = findGroup(group)
    return known?.epoch === epoch ? known : undefined
  }

  return {
    get: async (key) => {
      const value = findLive(key)?.value
      return typeof value === 'string' ? value : undefined
    },
    set: async (key, text, ttl) => store(key, text, ttl),
    delete: async (key) => void entries.delete(key),
    increment: async (key, window) => {
      const entry = findLive(key)
      if (!entry || typeof entry.value !== 'number') {
        store(key, 1, window)
        return { count: 1, remaining: window }
      }
      entry.value += 1
      return { count: entry.value, remaining: entry.until - clock.now() }
    },
    claim: (key, ttl) => {
      const now = clock.now()
      for (const [oldest, until] of claims) {
        if (until > now) break
        claims.delete(oldest)
      }
      if (claims.has(key)) return false
      if (claims.size >= maximumEntries)
        throw new Refusal('SYSTEM.UNAVAILABLE', { internal: 'too many claims in memory' })
      claims.set(key, addMs(now, ttl))
      return true
    },
    joinGroup: (key, { epoch, max, ttl }) => {
      const group = findGroup(key) ?? { epoch, joined: 0, windows: new Map() }
      if (group.joined >= max) return undefined
      group.joined += 1
      store(key, group, ttl)
      return group.epoch
    },
    spend: (window, sequence, size) => {
      const windows = groupOf(window)?.windows
      const known = windows?.get(window.member)
      if (!windows || known === null) return false
      const after = spendIn(known ?? emptyWindow, sequence, size)
      if (after) windows.set(window.member, after)
      return after !== undefined
    },
    isOpen: (window) => {
      const group = groupOf(window)
      return group !== undefined && group.windows.get(window.member) !== null
    },
    closeWindow: async (window) => void groupOf(window)?.windows.set(window.member, null),
    close: async () => entries.clear(),
  }
}
