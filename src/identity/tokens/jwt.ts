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
import type { SigningKey, SigningKeys } from './signing-keys.ts'

export interface TokenSubject {
  portal: Portal
  accountId: AccountId
  sessionId: SessionId
  clientHash: string
  /** Binds the token to a key instead of the client hash. */
  keyThumbprint: string | null
  sessionExpiresAt: Instant
}

const maxTokenLength = 2_048

/** Another replica, or a service, accepts a token that is issued by a clock that is ahead by at most this time. */
const minEarlyMs = 5_000

/** The accepted time before `nbf` and `iat`, in seconds. */
export function earlySeconds({ clockSkewMs }: Pick<IdentitySettings['tokens'], 'clockSkewMs'>): number {
  return Math.max(clockSkewMs, minEarlyMs) / 1_000
}

/** Issues and verifies access tokens (RFC 9068). */
export class AccessTokens {
  readonly #ports: Pick<IdentityPorts, 'clock' | 'ids' | 'digest'>
  readonly #keys: SigningKeys
  readonly #settings: IdentitySettings['tokens']
  readonly #portals: readonly Portal[]

  constructor(ports: IdentityPorts, keys: SigningKeys, settings: Pick<IdentitySettings, 'tokens' | 'portals'>) {
    this.#ports = ports
    this.#keys = keys
    this.#settings = settings.tokens
    this.#portals = Object.keys(settings.portals)
  }

  /** Returns the `client` claims that identify a client hash: the one of new tokens, and those under previous keys. */
  clientClaims(clientHash: string): [string, ...string[]] {
    const [current, ...previous] = this.#ports.digest.candidates('client-hash', clientHash)
    return [toClaim(current), ...previous.map(toClaim)]
  }

  /** Issues a token. `expiresIn` is its lifetime in seconds, rounded down. */
  async issue(subject: TokenSubject): Promise<{ accessToken: string; expiresIn: number }> {
    const { clock, ids } = this.#ports
    const { issuer, accessTtlMs } = this.#settings
    const now = clock.now()
    const { kid, privateKey } = await this.#keys.signing()
    const issued = epochSeconds(now)
    const expires = Math.min(Math.ceil(addMs(now, accessTtlMs) / 1_000), epochSeconds(subject.sessionExpiresAt))
    const { keyThumbprint: jkt } = subject
    const bound = jkt === null ? { client: this.clientClaims(subject.clientHash)[0] } : { cnf: { jkt } }
    const accessToken = await new SignJWT({ sid: subject.sessionId, ...bound })
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

  /** Does not check the session. */
  async read(token: string, at: Instant): Promise<(AccessClaims & { kid: string }) | undefined> {
    if (token.length > maxTokenLength || !isCompactJws(token)) return undefined
    const kid = keyIdOf(headerOf(token))
    const key = kid === undefined ? undefined : await this.#keys.verifying(kid)
    if (!key) return undefined
    const { issuer } = this.#settings
    const early = earlySeconds(this.#settings)
    const checks = {
      algorithms: ['EdDSA'],
      typ: accessTokenType,
      issuer,
      currentDate: toDate(at),
      clockTolerance: early,
    }
    try {
      const { payload } = await jwtVerify(token, key.publicKey, checks)
      const claims = parseClaims(payload, issuer, this.#portals)
      if (!claims || claims.issuedAt > epochSeconds(at) + early) return undefined
      if (claims.expires <= epochSeconds(at) - this.#settings.clockSkewMs / 1_000) return undefined
      return { ...claims, kid: key.kid }
    } catch {
      return undefined
    }
  }
}

/** Call assertions share the signing keys, so that one JWK Set verifies both. */
export function createAssertionSigner(
  keys: { signing(): Promise<Pick<SigningKey, 'kid' | 'privateKey'>> },
  clock: Clock,
  ids: Ids,
  issuer: string,
): AssertionSigner {
  return {
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
        .setNotBefore(issued - minEarlyMs / 1_000)
        .setExpirationTime(Math.ceil(addMs(now, ttl) / 1_000))
        .sign(privateKey)
    },
  }
}

function toClaim(digest: Uint8Array): string {
  return Buffer.from(digest).toString('base64url')
}

function epochSeconds(at: Instant): number {
  return Math.floor(at / 1_000)
}

function headerOf(token: string): unknown {
  try {
    return decodeProtectedHeader(token)
  } catch {
    return undefined
  }
}
