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

/** Returns `fallback` if the page may not use the storage, which every access reports as a SecurityError. */
const unlessForbidden = async <T>(access: () => T | Promise<T>, fallback: T): Promise<T> => {
  try {
    return await access()
  } catch (error) {
    if (error instanceof DOMException && error.name === 'SecurityError') return fallback
    throw error
  }
}

/**
 * Stores values that a full or forbidden storage rejects in this client's memory, so that the sign-in survives. Removes the
 * rejected value's predecessor from the storage; a later value there is another tab's and wins.
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
      // Delete our value: when the other tab's is deleted later, ours must not restore the sign-in.
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
