import { hash, type KeyObject } from 'node:crypto'
import { decodeProtectedHeader, errors, type JWTPayload, type JWTVerifyOptions, jwtVerify } from 'jose'
import { LRUCache } from 'lru-cache'
import { type Instant, messageOf, toDate } from '../../kernel/index.ts'
import type { Cache } from '../cache/index.ts'
import { type PublicJwk, type PublicKey, parsePublicKey } from './public-key.ts'

/** The request that a proof must be about. */
export interface ProvenRequest {
  method: string
  /** The base URLs of the portal, without a slash at the end. They are configured, and never come from the request. */
  baseUrls: readonly string[]
  /** Below a base URL, without the query. */
  path: string
  /** When its head arrived, which is the time of every check. */
  receivedAt: Instant
  /** Whether the proof was verified before, at the start of the same request. */
  isRepeated: boolean
}

/** An API key that has a public key. */
export interface AssertedKey {
  prefix: string
  publicKey: PublicJwk
}

/** A valid DPoP proof. */
export interface KeyProof {
  /** RFC 7638. */
  keyThumbprint: string
  /** Identifies the proof, see `spend`. */
  id: string
}

/** Its message is for the log. */
class InvalidProof extends Error {}

/** RFC 7523 in the shape that draft-ietf-oauth-rfc7523bis requires. */
const assertionType = 'client-authentication+jwt'
const proofType = 'dpop+jwt'

const maxLength = 4_096
const maxJtiLength = 256
const maxAgeSeconds = 60
/** FAPI 2.0 Security Profile, section 5.3.2.1: clocks differ by up to 10 seconds. */
const toleranceSeconds = 10
/** Longer than a proof can be valid. */
const spentMs = (maxAgeSeconds + 3 * toleranceSeconds) * 1_000
/** Anybody can send a key, so that there may be many of 4 kB. */
const maxCachedKeys = 2_000

/**
 * Verifies that a request comes from the holder of a private key. A proof is valid for one request: its method, its URL
 * and its id are part of it. All replicas know the ids that were used. If the cache is unavailable, verification rejects.
 */
export class RequestProofs {
  readonly #cache: Pick<Cache, 'claim'>
  /** Importing a key takes as long as verifying a signature. */
  readonly #keys = new LRUCache<string, PublicKey>({ max: maxCachedKeys })

  constructor(cache: Pick<Cache, 'claim'>) {
    this.#cache = cache
  }

  /** Returns the problem of an assertion of an API key, or undefined if it is valid. */
  verifyAssertion(assertion: string, key: AssertedKey, request: ProvenRequest): Promise<string | undefined> {
    return request.isRepeated ? Promise.resolve(undefined) : problemOf(this.#verifyAssertion(assertion, key, request))
  }

  async #verifyAssertion(assertion: string, { prefix, publicKey }: AssertedKey, request: ProvenRequest): Promise<void> {
    const key = this.#import(publicKey)
    const identity = { issuer: prefix, subject: prefix, typ: assertionType, requiredClaims: ['exp', 'aud'] }
    const claims = await this.#verify(assertion, key, identity, request)
    // The sole value of `aud`: one of several could be another server, which then could replay the assertion.
    if (typeof claims.aud !== 'string' || !request.baseUrls.includes(claims.aud)) throw new InvalidProof('wrong aud')
    if (Number(claims.exp) - Number(claims.iat) > maxAgeSeconds) throw new InvalidProof('exp is too late')
    if (!(await this.spend(idOf(`key:${prefix}`, claims)))) throw new InvalidProof('the proof was used before')
  }

  /**
   * Returns the problem of a DPoP proof (RFC 9449, section 4.3), or its key. With an access token, the proof must be about
   * it. Does not spend the proof.
   */
  async verifyDpop(
    proof: string,
    accessToken: string | null,
    request: ProvenRequest,
  ): Promise<KeyProof | { problem: string }> {
    try {
      const key = this.#import(keyInHeader(proof))
      const claims = await this.#verify(proof, key, { typ: proofType }, request)
      if (accessToken !== null && claims.ath !== hash('sha256', accessToken, 'base64url'))
        throw new InvalidProof('the proof is for another token')
      return { keyThumbprint: key.thumbprint, id: idOf(`dpop:${key.thumbprint}`, claims) }
    } catch (error) {
      if (error instanceof InvalidProof) return { problem: error.message }
      throw error
    }
  }

  /** Returns false if the proof was used before, on any replica. */
  async spend(id: string): Promise<boolean> {
    return this.#cache.claim(`proof:${id}`, spentMs)
  }

  #import(jwk: unknown): PublicKey {
    const text = JSON.stringify(jwk) ?? ''
    const cached = this.#keys.get(text)
    if (cached) return cached
    const parsed = parsePublicKey(jwk)
    if ('invalid' in parsed) throw new InvalidProof(`${parsed.invalid.reason} member ${parsed.invalid.name} of the key`)
    this.#keys.set(text, parsed)
    return parsed
  }

  async #verify(
    token: string,
    { key, algorithms }: PublicKey,
    expected: JWTVerifyOptions,
    { method, baseUrls, path, receivedAt }: ProvenRequest,
  ): Promise<JWTPayload> {
    if (token.length > maxLength) throw new InvalidProof('the proof is too long')
    const verified = await verifySafely(token, key, {
      ...expected,
      algorithms: [...algorithms],
      currentDate: toDate(receivedAt),
      clockTolerance: toleranceSeconds,
      maxTokenAge: maxAgeSeconds,
      requiredClaims: ['iat', 'jti', 'htm', 'htu', ...(expected.requiredClaims ?? [])],
    })
    const { jti, htm, htu } = verified
    if (typeof jti !== 'string' || jti === '' || jti.length > maxJtiLength) throw new InvalidProof('invalid jti')
    if (htm !== method) throw new InvalidProof('the proof is for another method')
    if (typeof htu !== 'string' || !isAt(htu, baseUrls, path)) throw new InvalidProof('the proof is for another URL')
    return verified
  }
}

function idOf(holder: string, { jti }: JWTPayload): string {
  return hash('sha256', JSON.stringify([holder, jti]), 'base64url')
}

function keyInHeader(proof: string): unknown {
  if (proof.length > maxLength) throw new InvalidProof('the proof is too long')
  try {
    return decodeProtectedHeader(proof).jwk
  } catch (error) {
    throw new InvalidProof(messageOf(error))
  }
}

async function problemOf(verification: Promise<void>): Promise<string | undefined> {
  try {
    await verification
    return undefined
  } catch (error) {
    if (error instanceof InvalidProof) return error.message
    throw error
  }
}

async function verifySafely(token: string, key: KeyObject, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, key, options)).payload
  } catch (error) {
    if (!(error instanceof errors.JOSEError || error instanceof TypeError)) throw error
    throw new InvalidProof(messageOf(error))
  }
}

/**
 * RFC 9449, section 4.3: without query and fragment, after normalization (RFC 3986, sections 6.2.2 and 6.2.3). For a
 * WebSocket, clients may write its scheme.
 */
function isAt(htu: string, baseUrls: readonly string[], path: string): boolean {
  const urls = baseUrls.map((url) => url + path)
  if (urls.includes(htu)) return true
  const url = URL.parse(htu.replace(/^ws/i, 'http'))
  return url !== null && url.username === '' && urls.some((each) => URL.parse(each)?.href === url.origin + url.pathname)
}
