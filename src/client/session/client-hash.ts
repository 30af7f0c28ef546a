import { toBase64url } from '../channel/jwe.ts'
import type { Storage } from './storage.ts'
import { readUntilChanged, type TabLock } from './tab-lock.ts'
import { isHeaderValue } from './tokens.ts'

/** Whether the gateway accepts a value as X-Client-Hash. */
const isClientHash = (value: string | null): value is string => isHeaderValue(value) && value.length <= 256

/**
 * Returns a function that resolves with X-Client-Hash: the given one, the stored one, or a new random one. A new hash is
 * stored, so that all tabs use the same.
 */
export const createClientHash = (given: string | null, storage: Storage, key: string, lock: TabLock) => {
  const readOrCreate = (): Promise<string> =>
    lock(key, async (waited) => {
      const read = async () => storage.getItem(key)
      const stored = waited ? await readUntilChanged(read, isClientHash) : await read()
      if (isClientHash(stored)) return stored
      const created = toBase64url(crypto.getRandomValues(new Uint8Array(24)))
      await storage.setItem(key, created)
      return created
    })
  let hash: Promise<string> | null = given === null ? null : Promise.resolve(given)
  return (): Promise<string> => {
    // After a storage error the next call tries again.
    hash ??= readOrCreate().catch((error: unknown) => {
      hash = null
      throw error
    })
    return hash
  }
}
