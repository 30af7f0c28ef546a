import { decodeProtectedHeader, jwtVerify, SignJWT } from 'jose'
import { type AccountId, addMs, type Instant, type Portal, type SessionId, toDate } from '../../kernel/index.ts'
import type { IdentityPorts } from '../ports.ts'
import type { IdentitySettings } from '../settings.ts'
import { type AccessClaims, accessTokenType, audienceOf, keyIdOf, parseClaims } from './claims.ts'
import type { SigningKeys } from './signing-keys.ts'

/** Whom a token is issued to. */
export interface TokenSubject {
  portal: Portal
  accountId: AccountId
  sessionId: SessionId
  clientHash: string
  /** No token outlives its session. */
  sessionExpiresAt: Instant
}

export interface AccessTokens {
  /** `expiresIn`: whole seconds that it is good for, none too many. */
  issue(subject: TokenSubject): Promise<{ accessToken: string; expiresIn: number }>
  /** What a token says whose form and signature are good, and its times at that moment; undefined for any other text. */
  read(token: string, at: Instant): Promise<(AccessClaims & { kid: string }) | undefined>
  /** The form in which a token names a client hash. */
  clientOf(clientHash: string): string
}

const longestToken = 2_048
const epochSeconds = (at: Instant): number => Math.floor(at / 1_000)

const headerOf = (token: string): unknown => {
  try {
    return decodeProtectedHeader(token)
  } catch {
    return undefined
  }
}

export const createAccessTokens = (
  ports: IdentityPorts,
  keys: SigningKeys,
  { issuer, accessTtlMs, clockSkewMs }: IdentitySettings['tokens'],
): AccessTokens => {
  const { clock, ids, digest } = ports
  const skew = clockSkewMs / 1_000
  const clientOf = (clientHash: string): string => Buffer.from(digest('client-hash', clientHash)).toString('base64url')

  return {
    clientOf,
    issue: async ({ portal, accountId, sessionId, clientHash, sessionExpiresAt }) => {
      const now = clock.now()
      const { kid, privateKey } = await keys.signing()
      const issued = epochSeconds(now)
      const expires = Math.min(Math.ceil(addMs(now, accessTtlMs) / 1_000), epochSeconds(sessionExpiresAt))
      const accessToken = await new SignJWT({ sid: sessionId, client: clientOf(clientHash) })
        .setProtectedHeader({ alg: 'EdDSA', typ: accessTokenType, kid })
        .setIssuer(issuer)
        .setAudience(audienceOf(issuer, portal))
        .setSubject(accountId)
        .setJti(ids.next<'token'>())
        .setIssuedAt(issued)
        .setNotBefore(issued)
        .setExpirationTime(expires)
        .sign(privateKey)
      return { accessToken, expiresIn: Math.max(0, Math.floor((expires * 1_000 - now) / 1_000)) }
    },
    read: async (token, at) => {
      const kid = token.length <= longestToken ? keyIdOf(headerOf(token)) : undefined
      const key = kid === undefined ? undefined : await keys.verifying(kid)
      if (!key) return undefined
      const checks = { algorithms: ['EdDSA'], typ: accessTokenType, issuer, currentDate: toDate(at) }
      try {
        const { payload } = await jwtVerify(token, key.publicKey, { ...checks, clockTolerance: skew })
        const claims = parseClaims(payload, issuer)
        if (!claims || claims.issuedAt > epochSeconds(at) + skew) return undefined
        return { ...claims, kid: key.kid }
      } catch {
        return undefined
      }
    },
  }
}
