import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Clock, MaybePromise } from '../../kernel/index.ts'
import type { IdentitySettings } from '../settings.ts'
import type { AccessTokens } from './access-tokens.ts'
import type { AccessClaims } from './claims.ts'
import type { SigningKeys } from './signing-keys.ts'

/**
 * Verifying a signature costs 142 µs, so what proved good is remembered by the token's SHA-256 and dropped at expiry.
 * The times and the key are looked at again each time; whether the session lives is another's question.
 */
export const rememberVerified = (
  tokens: AccessTokens,
  keys: SigningKeys,
  clock: Clock,
  { verifiedTokens, clockSkewMs }: IdentitySettings['tokens'],
): ((token: string) => MaybePromise<AccessClaims | undefined>) => {
  const verified = new LRUCache<string, AccessClaims & { kid: string }>({ max: verifiedTokens })

  const good = (claims: AccessClaims & { kid: string }): boolean => {
    const now = Math.floor(clock.now() / 1_000)
    const skew = clockSkewMs / 1_000
    return claims.notBefore <= now + skew && claims.expires > now - skew && keys.counts(claims.kid)
  }

  const verify = async (name: string, token: string): Promise<AccessClaims | undefined> => {
    verified.delete(name)
    const claims = await tokens.read(token)
    if (claims) verified.set(name, claims)
    return claims
  }

  return (token) => {
    const name = hash('sha256', token, 'base64')
    const known = verified.get(name)
    return known && good(known) ? known : verify(name, token)
  }
}
