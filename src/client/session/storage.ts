/** The storage of a client's tokens: localStorage, sessionStorage, or an asynchronous store of the same shape. */
export interface Storage {
  getItem(key: string): string | null | Promise<string | null>
  setItem(key: string, value: string): void | Promise<void>
  removeItem(key: string): void | Promise<void>
}

/** Returns a storage in this client's memory. */
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

/** Returns `fallback` if the page must not use the storage. In that case every access throws a SecurityError. */
const unlessForbidden = async <T>(access: () => T | Promise<T>, fallback: T): Promise<T> => {
  try {
    return await access()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'SecurityError') return fallback
    throw error
  }
}

/**
 * Returns a storage that keeps values in this client's memory if a full or forbidden storage rejects them. The sign-in
 * therefore survives. The earlier value is removed from the storage. If another tab stores a later value, that value
 * takes precedence.
 */
export const withMemoryFallback = (storage: Storage): Storage => {
  const rejected = new Map<string, string>()
  /** Resolves once the predecessor of the last rejected value has been removed. */
  let removal: Promise<void> = Promise.resolve()
  return {
    getItem: async (key) => {
      const own = rejected.get(key)
      await removal
      const stored = await unlessForbidden(() => storage.getItem(key), null)
      if (stored === null) return rejected.get(key) ?? null
      // Delete our value. Otherwise it would restore the sign-in when the other tab's value is deleted later.
      if (rejected.get(key) === own) rejected.delete(key)
      return stored
    },
    setItem: async (key, value) => {
      try {
        await storage.setItem(key, value)
        rejected.delete(key)
      } catch {
        const removed = unlessForbidden(() => storage.removeItem(key), undefined)
        removal = removed.catch(() => undefined)
        rejected.set(key, value)
        await removed
      }
    },
    removeItem: async (key) => {
      rejected.delete(key)
      await unlessForbidden(() => storage.removeItem(key), undefined)
    },
  }
}
