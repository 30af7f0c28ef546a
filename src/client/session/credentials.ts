import { toBase64url } from '../channel/jwe.ts'
import type { Storage } from './storage.ts'
import { readUntilChanged, type TabLock } from './tab-lock.ts'

/** The tokens of a sign-in or refresh; `expiresIn` in seconds. */
export interface TokenPair {
  accessToken: string
  refreshToken: string
  expiresIn: number
}

/** The X-Client-Hash to which the tokens are bound. Another tab can have created it. */
export interface Tokens {
  accessToken: string
  refreshToken: string
  /** The time from which the tokens are renewed before use, in epoch milliseconds by the client's clock. */
  clientHash: string
  /** When to renew the tokens before use; epoch milliseconds by the client's clock. */
  renewAt: number
}

export interface TokenStore {
  read(): Promise<Tokens | null>
  save(pair: TokenPair, clientHash: string): Promise<Tokens>
  clear(): Promise<void>
}

/** Whether a value can be sent in a header: visible ASCII, as tokens and client hashes are. */
const isHeaderValue = (value: unknown): value is string => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)

/** Tokens are renewed 30 s before they expire. Tokens with a short lifetime are renewed in its last quarter. */
const marginMs = 30_000
const renewalTime = (now: number, expiresIn: number): number => {
  const lifetimeMs = expiresIn * 1_000
  return now + lifetimeMs - Math.min(marginMs, lifetimeMs / 4)
}

const parseTokens = (text: string | null): Tokens | null => {
  if (text === null) return null
  try {
    const value: Partial<Record<keyof Tokens, unknown>> | null = JSON.parse(text)
    const { accessToken, refreshToken, clientHash, renewAt } = value ?? {}
    if (!isHeaderValue(accessToken) || !isHeaderValue(refreshToken)) return null
    if (!isHeaderValue(clientHash) || typeof renewAt !== 'number') return null
    return { accessToken, refreshToken, clientHash, renewAt }
  } catch {
    // Another program has stored this text under our key.
    return null
  }
}

/** Returns the stored tokens. They are read on each use, because another tab may have renewed or deleted them. */
export const createTokenStore = (storage: Storage, key: string, now: () => number): TokenStore => ({
  read: async () => parseTokens(await storage.getItem(key)),
  save: async ({ accessToken, refreshToken, expiresIn }, clientHash) => {
    const tokens = { accessToken, refreshToken, clientHash, renewAt: renewalTime(now(), expiresIn) }
    await storage.setItem(key, JSON.stringify(tokens))
    return tokens
  },
  clear: async () => {
    await storage.removeItem(key)
  },
})

/** Whether the gateway accepts a value as X-Client-Hash. */
const isClientHash = (value: string | null): value is string => isHeaderValue(value) && value.length <= 256

/**
 * Returns a function that resolves with the X-Client-Hash: the configured one, the stored one, or a new random one. A
 * new hash is stored, so that all tabs use the same hash.
 */
export const createClientHash = (
  configured: string | null,
  storage: Storage,
  key: string,
  lock: TabLock,
): (() => Promise<string>) => {
  const readOrCreate = (): Promise<string> =>
    lock(key, async (waited) => {
      const read = async () => storage.getItem(key)
      const stored = waited ? await readUntilChanged(read, isClientHash) : await read()
      if (isClientHash(stored)) return stored
      const created = toBase64url(crypto.getRandomValues(new Uint8Array(24)))
      await storage.setItem(key, created)
      return created
    })
  let hash: Promise<string> | null = configured === null ? null : Promise.resolve(configured)
  return (): Promise<string> => {
    // After a storage error the next call tries again.
    hash ??= readOrCreate().catch((error: unknown) => {
      hash = null
      throw error
    })
    return hash
  }
}
