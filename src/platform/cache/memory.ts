import { LRUCache } from 'lru-cache'
import { addMs, areWithin, type Clock, type Instant } from '../../kernel/index.ts'
import type { Cache, WindowName } from './cache.ts'
import { emptyWindow, type ReplayWindow, spendIn } from './replay-window.ts'

interface WindowGroup {
  epoch: string
  joined: number
  /** Windows in use by member; null once closed. */
  windows: Map<string, ReplayWindow | null>
}

interface Entry {
  value: string | number | WindowGroup
  at: Instant
  expiresAt: Instant
}

/** So many that are over go with each that comes, which must not wait for all that a rush has left. */
const mostAtOnce = 10

/** A clock that was set back by more than an entry's whole time ends it. */
const isLive = ({ at, expiresAt }: Entry, now: Instant): boolean =>
  expiresAt > now && areWithin(expiresAt - at, at, now)

/** The cache of a single process. At `maximumEntries` the least recently used one is lost. */
export const createMemoryCache = (clock: Clock, maximumEntries: number): Cache => {
  // Bounded by a size of one each and not by `max`, which would take all the room at once.
  const entries = new LRUCache<string, Entry>({ maxSize: maximumEntries, sizeCalculation: () => 1 })

  const live = (key: string): Entry | undefined => {
    const entry = entries.get(key)
    if (entry && isLive(entry, clock.now())) return entry
    if (entry) entries.delete(key)
    return undefined
  }
  /** What was least lately used is over first, but for longer windows. It goes as others come, so that the room follows use, not time. */
  const forget = (now: Instant): void => {
    let gone = 0
    for (const key of entries.rkeys()) {
      const entry = entries.peek(key)
      if (gone++ === mostAtOnce || (entry && isLive(entry, now))) return
      entries.delete(key)
    }
  }
  const put = (key: string, value: Entry['value'], ttl: number): void => {
    const at = clock.now()
    forget(at)
    entries.set(key, { value, at, expiresAt: addMs(at, ttl) })
  }

  const groupAt = (key: string): WindowGroup | undefined => {
    const value = live(key)?.value
    return typeof value === 'object' ? value : undefined
  }
  const groupOf = ({ group, epoch }: WindowName): WindowGroup | undefined => {
    const known = groupAt(group)
    return known?.epoch === epoch ? known : undefined
  }

  return {
    get: (key) => {
      const value = live(key)?.value
      return typeof value === 'string' ? value : undefined
    },
    set: async (key, value, ttl) => put(key, value, ttl),
    delete: async (key) => void entries.delete(key),
    increment: async (key, window) => {
      const entry = live(key)
      if (!entry || typeof entry.value !== 'number') {
        put(key, 1, window)
        return { count: 1, remaining: window }
      }
      entry.value += 1
      return { count: entry.value, remaining: entry.expiresAt - clock.now() }
    },
    joinGroup: (key, { epoch, max, ttl }) => {
      const group = groupAt(key) ?? { epoch, joined: 0, windows: new Map() }
      if (group.joined >= max) return undefined
      group.joined += 1
      put(key, group, ttl)
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
