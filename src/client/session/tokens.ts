import type { Storage } from './storage.ts'

/** Whether a value is a text that a header field can carry, as tokens and client hashes are. A garbled one cannot be sent. */
export const isHeaderValue = (value: unknown): value is string =>
  typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)

/** What a sign-in or a refresh yields (interface.md 2.5); `expiresIn` in seconds. */
export interface TokenPair {
  accessToken: string
  refreshToken: string
  expiresIn: number
}

export interface Tokens {
  accessToken: string
  refreshToken: string
  /** X-Client-Hash that the tokens are bound to, whichever tab they came to. */
  clientHash: string
  /** From when on the pair is exchanged before it is used; epoch milliseconds by the client's clock. */
  renewAt: number
}

export interface TokenStore {
  read(): Promise<Tokens | null>
  save(pair: TokenPair, clientHash: string): Promise<Tokens>
  clear(): Promise<void>
}

/** A pair is renewed this long before its end; a short-lived one in its last quarter. */
const marginMs = 30_000
const renewAt = (now: number, expiresIn: number): number => {
  const lifetime = expiresIn * 1_000
  return now + lifetime - Math.min(marginMs, lifetime / 4)
}

const parse = (text: string | null): Tokens | null => {
  if (text === null) return null
  try {
    const value: Partial<Record<keyof Tokens, unknown>> | null = JSON.parse(text)
    const { accessToken, refreshToken, clientHash, renewAt } = value ?? {}
    if (!isHeaderValue(accessToken) || !isHeaderValue(refreshToken)) return null
    if (!isHeaderValue(clientHash) || typeof renewAt !== 'number') return null
    return { accessToken, refreshToken, clientHash, renewAt }
  } catch {
    // Somebody else's text under our key: as good as none.
    return null
  }
}

/** The tokens in their storage. They are read at each use, since another tab may have renewed or ended them. */
export const createTokenStore = (storage: Storage, key: string, now: () => number): TokenStore => ({
  read: async () => parse(await storage.getItem(key)),
  save: async ({ accessToken, refreshToken, expiresIn }, clientHash) => {
    const tokens = { accessToken, refreshToken, clientHash, renewAt: renewAt(now(), expiresIn) }
    await storage.setItem(key, JSON.stringify(tokens))
    return tokens
  },
  clear: async () => {
    await storage.removeItem(key)
  },
})
