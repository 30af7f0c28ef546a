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
export const keptAnyway = (storage: Storage): Storage => {
  const refused = memoryStorage()
  return {
    getItem: async (key) => (await unlessForbidden(() => storage.getItem(key), null)) ?? refused.getItem(key),
    setItem: async (key, value) => {
      try {
        await storage.setItem(key, value)
        await refused.removeItem(key)
      } catch {
        await refused.setItem(key, value)
        await unlessForbidden(() => storage.removeItem(key), undefined)
      }
    },
    removeItem: async (key) => {
      await refused.removeItem(key)
      await unlessForbidden(() => storage.removeItem(key), undefined)
    },
  }
}
