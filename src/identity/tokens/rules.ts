import { z } from 'zod'
import {
  type AccountId,
  bizId,
  isBizId,
  type Portal,
  type Randomness,
  Refusal,
  type SessionId,
} from '../../kernel/index.ts'

/** RFC 9068. */
export interface AccessClaims {
  accountId: AccountId
  sessionId: SessionId
  portal: Portal
  /** The token is bound to a client hash, whose digest this is in base64url, or to a key. */
  client: string | undefined
  /** Of the key that signs DPoP proofs (RFC 9449, section 6.1). */
  keyThumbprint: string | undefined
  /** Epoch seconds. */
  notBefore: number
  expires: number
}

/** Distinct values prevent one kind of token from being accepted as another (RFC 8725, section 3.11). */
export const accessTokenType = 'at+jwt'
export const assertionType = 'portico-call+jwt'

export function audienceOf(issuer: string, portal: Portal): string {
  return `${issuer}/${portal.toLowerCase()}`
}

const Header = z.strictObject({ alg: z.literal('EdDSA'), typ: z.literal(accessTokenType), kid: z.uuid() })

/** Rejects other members, such as crit, jku, jwk or x5u. */
export function keyIdOf(header: unknown): string | undefined {
  return Header.safeParse(header).data?.kid
}

/** A digest of 36 bytes in base64url. */
const clientClaimLength = 48
/** SHA-256 in base64url. */
const thumbprintLength = 43
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
  client: z.string().length(clientClaimLength).optional(),
  cnf: z.strictObject({ jkt: z.string().length(thumbprintLength) }).optional(),
})

/** Expects that signature, issuer and times were verified. Returns undefined for the token of any other portal. */
export function parseClaims(
  payload: unknown,
  issuer: string,
  portals: readonly Portal[],
): (AccessClaims & { issuedAt: number }) | undefined {
  const claims = Claims.safeParse(payload).data
  const portal = portals.find((each) => claims?.aud === audienceOf(issuer, each))
  if (!claims || !portal) return undefined
  const { sub, sid, client, cnf, iat: issuedAt, nbf: notBefore, exp: expires } = claims
  if ((client === undefined) === (cnf === undefined)) return undefined
  const bound = { client, keyThumbprint: cnf?.jkt }
  return { accountId: bizId(sub), sessionId: bizId(sid), portal, ...bound, issuedAt, notBefore, expires }
}

const pattern = /^[A-Za-z0-9_-]{43}$/

/** Returns 256 random bits. Only their digest is stored. */
export function mintToken(randomness: Randomness): string {
  return Buffer.from(randomness.bytes(32)).toString('base64url')
}

/** The same refusal for unknown, expired and used values. */
export function sessionNotFound(internal: string): Refusal {
  return new Refusal('AUTH.SESSION_NOT_FOUND', { internal })
}

/** Throws AUTH.SESSION_NOT_FOUND if the text does not have the format of `mintToken`. This check avoids a query. */
export function assertOpaqueToken(text: string): void {
  if (!pattern.test(text)) throw sessionNotFound('not a well-formed token')
}
