import { LRUCache } from 'lru-cache'
import { type Instant, type MaybePromise, thenSync } from '../../kernel/index.ts'
import type { IdentitySettings } from '../settings.ts'
import { type AccessTokens, earlySeconds } from './jwt.ts'
import type { AccessClaims } from './rules.ts'
import type { SigningKeys } from './signing-keys.ts'

type VerifiedClaims = AccessClaims & { kid: string }

/** Verifying a signature takes 142 µs. */
export class VerifiedTokens {
  readonly #tokens: AccessTokens
  readonly #keys: SigningKeys
  readonly #clockSkew: number
  readonly #early: number
  readonly #verified: LRUCache<string, VerifiedClaims>

  constructor(tokens: AccessTokens, keys: SigningKeys, settings: IdentitySettings['tokens']) {
    this.#tokens = tokens
    this.#keys = keys
    this.#clockSkew = settings.clockSkewMs / 1_000
    this.#early = earlySeconds(settings)
    this.#verified = new LRUCache({ max: settings.cacheSize })
  }

  /** Does not check the session. */
  read(token: string, at: Instant): MaybePromise<AccessClaims | undefined> {
    const cached = this.#verified.get(token)
    if (!cached || !this.#isInTime(cached, at)) return this.#verify(token, at)
    return thenSync(this.#keys.isAccepted(cached.kid), (isAccepted) => (isAccepted ? cached : this.#verify(token, at)))
  }

  #isInTime({ notBefore, expires }: VerifiedClaims, at: Instant): boolean {
    const now = Math.floor(at / 1_000)
    return notBefore <= now + this.#early && expires > now - this.#clockSkew
  }

  async #verify(token: string, at: Instant): Promise<AccessClaims | undefined> {
    this.#verified.delete(token)
    const claims = await this.#tokens.read(token, at)
    if (claims) this.#verified.set(token, claims)
    return claims
  }
}
