/** Where a client keeps its tokens; localStorage and sessionStorage are such, and so is whatever is asynchronous. */
export interface Storage {
  getItem(key: string): string | null | Promise<string | null>
  setItem(key: string, value: string): void | Promise<void>
  removeItem(key: string): void | Promise<void>
}

export const memoryStorage = (): Storage => {
  const items = new Map<string, string>()
  return {
    getItem: (key) => items.get(key) ?? null,
    setItem: (key, value) => {
      items.set(key, value)
    },
    removeItem: (key) => {
      items.delete(key)
    },
  }
}

/** A page that may keep nothing is told so at each touch of a storage, and by nothing else. */
const unlessForbidden = async <T>(touch: () => T | Promise<T>, otherwise: T): Promise<T> => {
  try {
    return await touch()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'SecurityError') return otherwise
    throw error
  }
}

/**
 * A storage that takes nothing, being full or forbidden, costs nobody their sign-in: what it refuses stays in this
 * client's memory. The value of before, which serves no more, leaves the storage; what is there later is another tab's.
 */
export const withMemoryFallback = (storage: Storage): Storage => {
  const refused = new Map<string, string>()
  /** Over when no value of before is in the storage any more. */
  let removal: Promise<void> = Promise.resolve()
  return {
    getItem: async (key) => {
      const own = refused.get(key)
      await removal
      const stored = await unlessForbidden(() => storage.getItem(key), null)
      if (stored === null) return refused.get(key) ?? null
      // Another tab's: when that one goes, ours must not sign anybody in again.
      if (refused.get(key) === own) refused.delete(key)
      return stored
    },
    setItem: async (key, value) => {
      try {
        await storage.setItem(key, value)
        refused.delete(key)
      } catch {
        const removed = unlessForbidden(() => storage.removeItem(key), undefined)
        removal = removed.catch(() => undefined)
        refused.set(key, value)
        await removed
      }
    },
    removeItem: async (key) => {
      refused.delete(key)
      await unlessForbidden(() => storage.removeItem(key), undefined)
    },
  }
}
