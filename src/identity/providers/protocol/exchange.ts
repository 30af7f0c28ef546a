import { createLocalJWKSet, errors as jose, jwtVerify } from 'jose'
import * as oidc from 'openid-client'
import { z } from 'zod'
import { DependencyFailure, type Instant, isRecord, Refusal, reasonOf, toDate } from '../../../kernel/index.ts'
import type { KeySet, ProviderDirectory } from './directory.ts'

/** RFC 7636 and OpenID Connect Core 1.0, by openid-client, which checks every reply. */

export interface AuthorizationRequest {
  state: string
  nonce: string
  verifier: string
  /** Of a step-up, which needs a fresh sign-in. */
  acrValues: readonly string[] | null
}

/** Returns the URL at which the person signs in. Throws AUTH.PROVIDER_UNAVAILABLE. */
export async function authorizationUrl(
  directory: ProviderDirectory,
  { state, nonce, verifier, acrValues }: AuthorizationRequest,
): Promise<string> {
  const { redirectUri, scopes } = directory.settings
  return reachable(directory, async () => {
    const { client } = await directory.client()
    const parameters: Record<string, string> = {
      redirect_uri: redirectUri,
      scope: scopes.join(' '),
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      ...(acrValues && { max_age: '0' }),
      ...(acrValues && acrValues.length > 0 && { acr_values: acrValues.join(' ') }),
    }
    const isPushed = client.serverMetadata().pushed_authorization_request_endpoint !== undefined
    const url = isPushed
      ? await oidc.buildAuthorizationUrlWithPAR(client, parameters)
      : oidc.buildAuthorizationUrl(client, parameters)
    return url.href
  })
}

/** The reply of the provider, as the callback page got it. */
export interface AuthorizationReply {
  code: string
  state: string
  iss?: string | undefined
}

export interface VerifiedIdentity {
  subject: string
  /** The session at the provider. */
  sid: string | null
  claims: Readonly<Record<string, unknown>>
  idToken: string
}

/** An ID token is stored in the session, as a hint for the sign-out. Larger ones are not. */
export const maxIdTokenLength = 16_384

const toleranceMs = 30_000

/**
 * Exchanges the code. `startedAt` is the time of a request that needs a fresh sign-in. Throws AUTH.PROVIDER_REFUSED or
 * AUTH.PROVIDER_UNAVAILABLE.
 */
export async function redeemCode(
  directory: ProviderDirectory,
  reply: AuthorizationReply,
  expected: { nonce: string; verifier: string; startedAt: Instant | null; now: Instant },
): Promise<VerifiedIdentity> {
  return reachable(directory, async () => {
    const { client, keep } = await directory.client()
    const url = new URL(directory.settings.redirectUri)
    url.searchParams.set('code', reply.code)
    url.searchParams.set('state', reply.state)
    if (reply.iss !== undefined) url.searchParams.set('iss', reply.iss)
    const { nonce, verifier, startedAt, now } = expected
    const tokens = await oidc.authorizationCodeGrant(client, url, {
      pkceCodeVerifier: verifier,
      expectedState: reply.state,
      expectedNonce: nonce,
      idTokenExpected: true,
      ...(startedAt !== null && { maxAge: Math.ceil((now - startedAt) / 1_000) }),
    })
    keep()
    const claims = tokens.claims()
    if (!claims || tokens.id_token === undefined) throw refused('the reply has no ID token')
    const { sub, sid, azp, iat } = claims
    const subject = Subject.safeParse(sub).data
    if (subject === undefined) throw refused('the subject is not one of OpenID Connect')
    // The library checks azp only with several audiences, and iat not at all.
    if (azp !== undefined && azp !== directory.settings.clientId) throw refused('the ID token has another azp')
    if (iat * 1_000 > now + toleranceMs) throw refused('the ID token was issued in the future')
    // Without a usable one, a logout by `sub` ends the session.
    return { subject, sid: Identifier.safeParse(sid).data ?? null, claims: { ...claims }, idToken: tokens.id_token }
  })
}

/** OpenID Connect Core 1.0, section 2: up to 255 ASCII characters. Two subjects must never be stored as one. */
const Subject = z.string().regex(/^[\x20-\x7e]{1,255}$/)
/** An id that the store can hold and find as it is. */
export const Identifier = z
  .string()
  .regex(/^[^\0]{1,512}$/)
  .refine((text) => text.isWellFormed())

const LogoutClaims = z.object({
  jti: Identifier,
  exp: z.number().optional(),
  iat: z.number(),
  sub: Subject.optional(),
  sid: Identifier.optional(),
  nonce: z.undefined().optional(),
  events: z
    .record(z.string(), z.unknown())
    .refine((events) => isRecord(events['http://schemas.openid.net/event/backchannel-logout'])),
})
export type LogoutClaims = z.output<typeof LogoutClaims>

const signatures = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA', 'Ed25519', 'RS384', 'RS512', 'PS384', 'PS512', 'ES512']

/** Also the time for which `jti` must be remembered. */
export const maxLogoutAgeSeconds = 300

/**
 * OpenID Connect Back-Channel Logout 1.0, section 2.6. Explicit types of other tokens are refused. Throws
 * AUTH.PROVIDER_REFUSED or AUTH.PROVIDER_UNAVAILABLE.
 */
export async function verifyLogoutToken(
  directory: ProviderDirectory,
  token: string,
  now: Instant,
): Promise<LogoutClaims> {
  return reachable(directory, async () => {
    const { issuer, clientId: audience } = directory.settings
    const verify = (keys: KeySet) =>
      jwtVerify(token, createLocalJWKSet(keys), {
        ...{ issuer, audience, algorithms: signatures, clockTolerance: 30, currentDate: toDate(now) },
        ...{ maxTokenAge: maxLogoutAgeSeconds, requiredClaims: ['iat', 'jti', 'events'] },
      })
    const verified = await verify(await directory.keys()).catch(async (error: unknown) => {
      if (error instanceof jose.JWKSNoMatchingKey) return verify(await directory.newerKeys())
      throw error
    })
    const type = verified.protectedHeader.typ?.toLowerCase().replace(/^application\//, '')
    if (type !== undefined && type !== 'logout+jwt' && type !== 'jwt') throw refused(`a token of the type ${type}`)
    const claims = LogoutClaims.safeParse(verified.payload).data
    if (!claims) throw refused('the claims are not those of a logout token')
    if (claims.sub === undefined && claims.sid === undefined) throw refused('a logout token without sub and sid')
    return claims
  })
}

/** Where the browser ends the session at the provider, or null if it offers no such page. */
export async function endSessionUrl(
  directory: ProviderDirectory,
  { idToken, returnTo }: { idToken: string | null; returnTo: string },
): Promise<string | null> {
  return reachable(directory, async () => {
    const { client } = await directory.client()
    if (client.serverMetadata().end_session_endpoint === undefined) return null
    const hint = idToken === null ? {} : { id_token_hint: idToken }
    return oidc.buildEndSessionUrl(client, { ...hint, post_logout_redirect_uri: returnTo }).href
  })
}

export function refused(internal: string, cause?: unknown): Refusal {
  return new Refusal('AUTH.PROVIDER_REFUSED', { internal, cause })
}

async function reachable<T>(directory: ProviderDirectory, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) throw error
    const { id } = directory.settings
    if (isRefusal(error)) throw refused(`${id}: ${textOf(error)}`, error)
    // The directory has logged its own failures.
    if (!(error instanceof DependencyFailure)) directory.failed(error)
    throw new Refusal('AUTH.PROVIDER_UNAVAILABLE', {
      ...{ internal: `${id}: ${textOf(error)}`, retryAfter: 5, cause: error },
    })
  }
}

/** Codes of openid-client for replies that it does not accept. */
const refusals: ReadonlySet<string | undefined> = new Set([
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_UNSUPPORTED_OPERATION',
  'OAUTH_PARSE_ERROR',
  'OAUTH_AUTHORIZATION_RESPONSE_ERROR',
])

/** Errors of OAuth that mean a wrong configuration of the client, as opposed to a wrong code. */
const misconfigurations: ReadonlySet<string> = new Set(['invalid_client', 'unauthorized_client', 'server_error'])

/** Whether the provider works, but its reply does not count. */
function isRefusal(error: unknown): boolean {
  if (error instanceof oidc.ResponseBodyError) return error.status < 500 && !misconfigurations.has(error.error)
  if (error instanceof oidc.AuthorizationResponseError || error instanceof jose.JOSEError) return true
  return error instanceof oidc.ClientError && refusals.has(error.code)
}

/** The cause of an OAuth error is an object without a message. */
function textOf(error: unknown): string {
  if (error instanceof oidc.ResponseBodyError) return `${error.status} ${error.error}`
  return error instanceof oidc.AuthorizationResponseError ? error.error : reasonOf(error)
}
