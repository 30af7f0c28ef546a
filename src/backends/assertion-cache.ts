import { LRUCache } from 'lru-cache'
import type { AssertionClaims, AssertionSigner } from './assertion.ts'

/**
 * Signed assertions, kept while they are good for at least half of their time: they hold nothing of a single request,
 * so one signature serves all the calls of a caller in a workspace.
 */
export const cachedAssertions = (signer: AssertionSigner, audience: string, ttlMs: number, now: () => number) => {
  const cache = new LRUCache<string, { token: Promise<string>; until: number }>({ max: 10_000 })
  return (claims: AssertionClaims): Promise<string> => {
    const key = JSON.stringify(claims)
    const known = cache.get(key)
    if (known && known.until > now()) return known.token
    const token = signer.sign({ audience, claims: { ...claims }, ttl: ttlMs })
    cache.set(key, { token, until: now() + ttlMs / 2 })
    token.catch(() => cache.delete(key))
    return token
  }
}
