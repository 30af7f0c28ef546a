import { z } from 'zod'
import {
  type AccountId,
  bizId,
  isBizId,
  type Portal,
  portals,
  type Randomness,
  Refusal,
  type SessionId,
} from '../../kernel/index.ts'

/** The claims of an access token (RFC 9068). */
export interface AccessClaims {
  accountId: AccountId
  sessionId: SessionId
  portal: Portal
  /** Digest of the client hash that the session was started with, base64url. */
  client: string
  /** Epoch seconds. */
  notBefore: number
  expires: number
}

/** `typ` of each kind of JWT, so that one is never accepted as another (RFC 8725, section 3.11). */
export const accessTokenType = 'at+jwt'
export const assertionType = 'portico-call+jwt'

/** The audience of a portal. */
export const audienceOf = (issuer: string, portal: Portal): string => `${issuer}/${portal.toLowerCase()}`

const Header = z.strictObject({ alg: z.literal('EdDSA'), typ: z.literal(accessTokenType), kid: z.uuid() })

/** The key id of a header with exactly these members. A header with others (crit, jku, jwk, x5u) is rejected. */
export const keyIdOf = (header: unknown): string | undefined => Header.safeParse(header).data?.kid

const time = z.int().min(0)
const id = z.string().refine(isBizId)
const Claims = z.strictObject({
  iss: z.string(),
  aud: z.string(),
  sub: id,
  sid: id,
  jti: id,
  iat: time,
  nbf: time,
  exp: time,
  client: z.string().length(43),
})

/** The claims of a payload whose signature, issuer and times have been checked; undefined if one is invalid. */
export const parseClaims = (payload: unknown, issuer: string): (AccessClaims & { issuedAt: number }) | undefined => {
  const claims = Claims.safeParse(payload).data
  const portal = portals.find((each) => claims?.aud === audienceOf(issuer, each))
  if (!claims || !portal) return undefined
  return {
    accountId: bizId(claims.sub),
    sessionId: bizId(claims.sid),
    portal,
    client: claims.client,
    issuedAt: claims.iat,
    notBefore: claims.nbf,
    expires: claims.exp,
  }
}

const tokenBytes = 32
const pattern = /^[A-Za-z0-9_-]{43}$/

/** Returns 256 random bits in base64url. The store keeps only a digest of them. */
export const mintToken = (randomness: Randomness): string =>
  Buffer.from(randomness.bytes(tokenBytes)).toString('base64url')

/** The one refusal for a sign-in attempt, a token or a family that is unknown, expired or spent. */
export const sessionNotFound = (internal: string): Refusal => new Refusal('AUTH.SESSION_NOT_FOUND', { internal })

/** Throws AUTH.SESSION_NOT_FOUND for a text that `mintToken` cannot have returned, so that no query is run for it. */
export const assertOpaqueToken = (text: string): void => {
  if (!pattern.test(text)) throw sessionNotFound('not a well-formed token')
}
