import { fromBase64, toBase64url } from '../channel/jwe.ts'
import type { Storage } from './storage.ts'
import { readUntilChanged, type TabLock } from './tab-lock.ts'

/** The tokens of a sign-in or refresh. `expiresIn` is in seconds. */
export interface TokenPair {
  accessToken: string
  refreshToken: string
  expiresIn: number
}

/** The stored tokens. */
export interface Tokens {
  accessToken: string
  refreshToken: string
  /** The X-Client-Hash, which another tab may have created. */
  clientHash: string
  /** When to renew the tokens, in epoch milliseconds by the client's clock. */
  renewAt: number
}

export interface TokenStore {
  read(): Promise<Tokens | null>
  save(pair: TokenPair, clientHash: string): Promise<Tokens>
  clear(): Promise<void>
}

/** Renews 30 s before expiry, or in the last quarter of a short lifetime. */
const marginMs = 30_000

/** The claim `sub` (RFC 9068), or an empty string if the token is not a JWT. */
export function accountOf({ accessToken }: Pick<Tokens, 'accessToken'>): string {
  try {
    const claims: { sub?: unknown } | null = JSON.parse(
      new TextDecoder().decode(fromBase64(accessToken.split('.')[1] ?? '')),
    )
    return typeof claims?.sub === 'string' ? claims.sub : ''
  } catch {
    return ''
  }
}

/** Reads the tokens at each use, because another tab may have changed them. */
export function createTokenStore(storage: Storage, key: string, now: () => number): TokenStore {
  return {
    read: async () => parseTokens(await storage.getItem(key)),
    save: async ({ accessToken, refreshToken, expiresIn }, clientHash) => {
      const tokens = { accessToken, refreshToken, clientHash, renewAt: renewalTime(now(), expiresIn) }
      await storage.setItem(key, JSON.stringify(tokens))
      return tokens
    },
    clear: async () => {
      await storage.removeItem(key)
    },
  }
}

/** Stores a new hash, so that all tabs use the same one. */
export function createClientHash(
  configured: string | null,
  storage: Storage,
  key: string,
  lock: TabLock,
): () => Promise<string> {
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
    // After a storage error, the next call tries again.
    hash ??= readOrCreate().catch((error: unknown) => {
      hash = null
      throw error
    })
    return hash
  }
}

function parseTokens(text: string | null): Tokens | null {
  if (text === null) return null
  try {
    const value: Partial<Record<keyof Tokens, unknown>> | null = JSON.parse(text)
    const { accessToken, refreshToken, clientHash, renewAt } = value ?? {}
    if (!isHeaderValue(accessToken) || !isHeaderValue(refreshToken)) return null
    if (!isHeaderValue(clientHash) || typeof renewAt !== 'number') return null
    return { accessToken, refreshToken, clientHash, renewAt }
  } catch {
    // Another program has used the same key.
    return null
  }
}

/** Tokens and client hashes are visible ASCII. */
function isHeaderValue(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)
}

function renewalTime(now: number, expiresIn: number): number {
  const lifetimeMs = expiresIn * 1_000
  return now + lifetimeMs - Math.min(marginMs, lifetimeMs / 4)
}

function isClientHash(value: string | null): value is string {
  return isHeaderValue(value) && value.length <= 256
}
