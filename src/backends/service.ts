import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { z } from 'zod'
import type { Call, Stage } from '../gateway/call.ts'
import {
  bizId,
  type Clock,
  chains,
  type Operation,
  type Permission,
  type Portal,
  parseLocale,
  Refusal,
  toDate,
  toInstant,
} from '../kernel/index.ts'
import { Claims } from './assertion.ts'

/** Whether the portal has the operation: whoever calls through another one has been let in for something else. */
const isOf = (portal: Portal, operation: Operation): boolean =>
  operation.chains.some((id) => chains[id].portal === portal)

/** Whether machines have it at all: an API key that is asserted for one call has no business in what is people's. */
const isForKeys = ({ chains: ids }: Operation): boolean => ids.some((id) => chains[id].perimeter === 'machine')

const setOf = (list: Permission[]): ReadonlySet<Permission> => new Set(list)

const adopt = (call: Call, claims: z.output<typeof Claims>): void => {
  const { sub, sid, key, steppedUpAt, workspace } = claims
  call.portal = claims.portal
  if (sub)
    call.caller = {
      accountId: bizId(sub),
      portal: claims.portal,
      sessionId: sid ? bizId(sid) : null,
      apiKeyId: key ?? null,
      steppedUpAt: steppedUpAt === undefined ? null : toInstant(steppedUpAt),
      permissions: setOf(claims.permissions),
    }
  if (workspace) call.workspace = { ...workspace, id: bizId(workspace.id), permissions: setOf(workspace.permissions) }
}

/** As the gateway writes it, percent-encoded; what is not written so is not read. */
const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

/** The request's own facts, which the gateway sets on every call and nobody else can. */
const adoptHeaders = (call: Call): void => {
  call.locale = parseLocale(call.headers.optional('x-locale'))
  call.clientIp = call.headers.optional('x-client-ip') ?? ''
  call.userAgent = decoded(call.headers.optional('x-client-user-agent') ?? '')
  call.country = call.headers.optional('x-client-country') ?? 'XX'
  call.headOnly ||= call.headers.optional('x-client-method') === 'HEAD'
}

/** What says of a token that no key of the gateway's is its own. */
const isForeign = (error: unknown): boolean =>
  error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys

/**
 * The gateway's public keys, fetched when first needed and again for a key that is not known yet. Where they are not to
 * be had nothing is known of the token, and it is not called a bad one.
 */
const remoteKeys = (url: string): JWTVerifyGetKey => {
  const keyOf = createRemoteJWKSet(new URL(url), { timeoutDuration: 3_000, cooldownDuration: 1_000 })
  return (header, token) =>
    keyOf(header, token).catch((cause: unknown) => {
      if (isForeign(cause)) throw cause
      throw new Refusal('SYSTEM.UNAVAILABLE', { retryAfter: 1, internal: 'the keys of the gateway', cause })
    })
}

/** `type`: the `typ` header of a call assertion, which no other token of the gateway has. */
export interface AssertedSettings {
  issuer: string
  audience: string
  jwksUrl: string
  type: string
  /** How far the gateway's clock may be from this one's. */
  clockSkewMs: number
}

/**
 * The first stage of a domain service (`serve --role domains`): the gateway has judged the caller already, and says so
 * in a signed call assertion. Without a good one nothing is served.
 */
export const assertedCall = (settings: AssertedSettings, clock: Clock): Stage => {
  const keys = remoteKeys(settings.jwksUrl)
  const options = {
    issuer: settings.issuer,
    audience: settings.audience,
    algorithms: ['EdDSA'],
    typ: settings.type,
    requiredClaims: ['exp', 'iat'],
    clockTolerance: settings.clockSkewMs / 1_000,
  }
  return async (call) => {
    const [scheme, token] = (call.headers.optional('authorization') ?? '').split(' ', 2)
    if (scheme !== 'Bearer' || !token) throw new Refusal('ACCESS.TOKEN_MISSING')
    const now = { currentDate: toDate(clock.now()) }
    const verified = await jwtVerify(token, keys, { ...options, ...now }).catch((cause: unknown) => {
      throw cause instanceof Refusal
        ? cause
        : new Refusal('ACCESS.TOKEN_INVALID', { internal: 'call assertion', cause })
    })
    const claims = Claims.safeParse(verified.payload)
    if (!claims.success) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'claims of the call assertion' })
    if (!isOf(claims.data.portal, call.operation))
      throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'call assertion of another portal' })
    if (claims.data.key !== undefined && !isForKeys(call.operation))
      throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'call assertion of an API key' })
    const { policy } = call.operation
    adopt(call, claims.data)
    adoptHeaders(call)
    if (policy.caller === 'account' && !call.caller) throw new Refusal('ACCESS.TOKEN_MISSING')
    if (policy.workspace !== 'none' && !call.workspace) throw new Refusal('ACCESS.WORKSPACE_REQUIRED')
  }
}
