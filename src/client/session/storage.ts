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

/**
 * A storage that takes nothing, being full or forbidden, costs nobody their sign-in: what it refuses stays in this
 * client's memory. The value of before, which serves no more, leaves the storage; what is there later is another tab's.
 */
export const keptAnyway = (storage: Storage): Storage => {
  const refused = memoryStorage()
  return {
    getItem: async (key) => (await storage.getItem(key)) ?? refused.getItem(key),
    setItem: async (key, value) => {
      try {
        await storage.setItem(key, value)
        await refused.removeItem(key)
      } catch {
        await refused.setItem(key, value)
        await storage.removeItem(key)
      }
    },
    removeItem: async (key) => {
      await refused.removeItem(key)
      await storage.removeItem(key)
    },
  }
}
