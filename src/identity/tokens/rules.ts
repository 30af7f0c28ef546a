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

/** `typ` header of each kind of JWT, so that none is accepted as another (RFC 8725, section 3.11). */
export const accessTokenType = 'at+jwt'
export const assertionType = 'portico-call+jwt'

/** Returns the audience of a portal's access tokens. */
export const audienceOf = (issuer: string, portal: Portal): string => `${issuer}/${portal.toLowerCase()}`

const Header = z.strictObject({ alg: z.literal('EdDSA'), typ: z.literal(accessTokenType), kid: z.uuid() })

/**
 * Returns the key id of a JWT header. Returns undefined for a header with other members, such as crit, jku, jwk or x5u.
 */
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

/** Returns the claims of a payload whose signature, issuer and times were verified; undefined if a claim is invalid. */
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

/** Returns a token of 256 random bits in base64url. Only its digest is stored. */
export const mintToken = (randomness: Randomness): string =>
  Buffer.from(randomness.bytes(tokenBytes)).toString('base64url')

/** Returns the same refusal for every attempt, token or session that is unknown, expired or spent. */
export const sessionNotFound = (internal: string): Refusal => new Refusal('AUTH.SESSION_NOT_FOUND', { internal })

/** Throws AUTH.SESSION_NOT_FOUND unless `mintToken` can have returned the text. This saves a query. */
export const assertOpaqueToken = (text: string): void => {
  if (!pattern.test(text)) throw sessionNotFound('not a well-formed token')
}
