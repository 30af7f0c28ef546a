import { toBase64url } from '../channel/jwe.ts'
import { isHeaderValue, readUntilChanged, type Storage, type TabLock } from './index.ts'

/** What the gateway takes; with any other one no call would get through. */
const isHash = (value: string | null): value is string => isHeaderValue(value) && value.length <= 256

/** X-Client-Hash: the given one, the stored one, or a fresh random one that is stored, so that tabs have the same. */
export const createClientHash = (given: string | null, storage: Storage, key: string, lock: TabLock) => {
  const settle = (): Promise<string> =>
    lock(key, async (waited) => {
      const read = async () => storage.getItem(key)
      const stored = waited ? await readUntilChanged(read, isHash) : await read()
      if (isHash(stored)) return stored
      const made = toBase64url(crypto.getRandomValues(new Uint8Array(24)))
      await storage.setItem(key, made)
      return made
    })
  let settled: Promise<string> | null = given === null ? null : Promise.resolve(given)
  return (): Promise<string> => {
    // A storage that could not be read is asked again by the next call.
    settled ??= settle().catch((error: unknown) => {
      settled = null
      throw error
    })
    return settled
  }
}
