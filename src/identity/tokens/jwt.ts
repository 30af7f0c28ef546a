import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose'
import {
  type AccountId,
  type AssertionSigner,
  addMs,
  type Clock,
  type Ids,
  type Instant,
  type Portal,
  type SessionId,
  toDate,
} from '../../kernel/index.ts'
import { isCompactJws } from '../../platform/crypto/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { type AccessClaims, accessTokenType, assertionType, audienceOf, keyIdOf, parseClaims } from './rules.ts'
import type { SigningKeys } from './signing-keys.ts'

/** The session that a token is issued for. */
export interface TokenSubject {
  portal: Portal
  accountId: AccountId
  sessionId: SessionId
  clientHash: string
  /** The token expires with its session at the latest. */
  sessionExpiresAt: Instant
}

const maxTokenLength = 2_048
const epochSeconds = (at: Instant): number => Math.floor(at / 1_000)

const headerOf = (token: string): unknown => {
  try {
    return decodeProtectedHeader(token)
  } catch {
    return undefined
  }
}

/** Issues and verifies access tokens (RFC 9068). */
export class AccessTokens {
  readonly #ports: Pick<IdentityPorts, 'clock' | 'ids' | 'digest'>
  readonly #keys: SigningKeys
  readonly #settings: IdentitySettings['tokens']

  constructor(ports: IdentityPorts, keys: SigningKeys, settings: IdentitySettings['tokens']) {
    this.#ports = ports
    this.#keys = keys
    this.#settings = settings
  }

  /** Returns the `client` claim for a client hash. */
  clientClaim(clientHash: string): string {
    return Buffer.from(this.#ports.digest('client-hash', clientHash)).toString('base64url')
  }

  /** Issues a token. `expiresIn` is its lifetime in seconds, rounded down. */
  async issue(subject: TokenSubject): Promise<{ accessToken: string; expiresIn: number }> {
    const { clock, ids } = this.#ports
    const { issuer, accessTtlMs } = this.#settings
    const now = clock.now()
    const { kid, privateKey } = await this.#keys.signing()
    const issued = epochSeconds(now)
    const expires = Math.min(Math.ceil(addMs(now, accessTtlMs) / 1_000), epochSeconds(subject.sessionExpiresAt))
    const accessToken = await new SignJWT({ sid: subject.sessionId, client: this.clientClaim(subject.clientHash) })
      .setProtectedHeader({ alg: 'EdDSA', typ: accessTokenType, kid })
      .setIssuer(issuer)
      .setAudience(audienceOf(issuer, subject.portal))
      .setSubject(subject.accountId)
      .setJti(ids.next<'token'>())
      .setIssuedAt(issued)
      .setNotBefore(issued)
      .setExpirationTime(expires)
      .sign(privateKey)
    return { accessToken, expiresIn: Math.max(0, Math.floor((expires * 1_000 - now) / 1_000)) }
  }

  /** Returns the claims of a token that is valid at an instant; undefined for any other text. Does not check the session. */
  async read(token: string, at: Instant): Promise<(AccessClaims & { kid: string }) | undefined> {
    if (token.length > maxTokenLength || !isCompactJws(token)) return undefined
    const kid = keyIdOf(headerOf(token))
    const key = kid === undefined ? undefined : await this.#keys.verifying(kid)
    if (!key) return undefined
    const { issuer } = this.#settings
    const clockTolerance = this.#settings.clockSkewMs / 1_000
    const checks = { algorithms: ['EdDSA'], typ: accessTokenType, issuer, currentDate: toDate(at), clockTolerance }
    try {
      const { payload } = await jwtVerify(token, key.publicKey, checks)
      const claims = parseClaims(payload, issuer)
      if (!claims || claims.issuedAt > epochSeconds(at) + clockTolerance) return undefined
      return { ...claims, kid: key.kid }
    } catch {
      return undefined
    }
  }
}

/** Creates the signer of call assertions. It uses the keys of access tokens, so that one JWK Set verifies both. */
export const createAssertionSigner = (keys: SigningKeys, clock: Clock, ids: Ids, issuer: string): AssertionSigner => ({
  sign: async ({ audience, claims, ttlMs: ttl }) => {
    const { kid, privateKey } = await keys.signing()
    const now = clock.now()
    const issued = Math.floor(now / 1_000)
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'EdDSA', typ: assertionType, kid })
      .setIssuer(issuer)
      .setAudience(audience)
      .setJti(ids.next<'assertion'>())
      .setIssuedAt(issued)
      .setNotBefore(issued)
      .setExpirationTime(Math.ceil(addMs(now, ttl) / 1_000))
      .sign(privateKey)
  },
})
