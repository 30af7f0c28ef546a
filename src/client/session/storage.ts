/** Stores a client's tokens: localStorage, sessionStorage, or an asynchronous equivalent. */
export interface Storage {
  getItem(key: string): string | null | Promise<string | null>
  setItem(key: string, value: string): void | Promise<void>
  removeItem(key: string): void | Promise<void>
}

export function memoryStorage(): Storage {
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

/** Memory outside of browsers, and where the page may not use the storage. */
export function pageStorage(): Storage {
  try {
    return typeof localStorage === 'undefined' ? memoryStorage() : localStorage
  } catch {
    return memoryStorage()
  }
}

/**
 * Keeps values in memory if the storage is full or forbidden, and removes their earlier values from it. A later value
 * of another tab takes precedence.
 */
export function withMemoryFallback(storage: Storage): Storage {
  const rejected = new Map<string, string>()
  let removal: Promise<void> = Promise.resolve()
  return {
    getItem: async (key) => {
      const own = rejected.get(key)
      await removal
      const stored = await unlessForbidden(() => storage.getItem(key), null)
      if (stored === null) return rejected.get(key) ?? null
      // Otherwise our value would restore a sign-in that the other tab deletes.
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

/** Every access throws a SecurityError if the page may not use the storage. */
async function unlessForbidden<T>(access: () => T | Promise<T>, fallback: T): Promise<T> {
  try {
    return await access()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'SecurityError') return fallback
    throw error
  }
}
