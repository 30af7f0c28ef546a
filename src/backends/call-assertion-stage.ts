import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey, jwtVerify } from 'jose'
import type { z } from 'zod'
import type { Configuration } from '../config/index.ts'
import { hooksHeader } from '../contract/header-values.ts'
import { headers } from '../contract/headers.ts'
import type { Call, Stage } from '../gateway/pipeline/call.ts'
import {
  bizId,
  type Clock,
  chains,
  isChainOf,
  type Operation,
  type Permission,
  type Portal,
  parseLocale,
  Refusal,
  toDate,
  toInstant,
} from '../kernel/index.ts'
import { isCompactJws } from '../platform/crypto/index.ts'
import { fetchText } from '../platform/http-client.ts'
import { AssertionClaims } from './call-assertion.ts'

type Claims = z.output<typeof AssertionClaims>

export interface CallAssertionSettings
  extends Pick<Configuration['tokens'], 'issuer' | 'clockSkewMs'>,
    Pick<Configuration['assertion'], 'audience' | 'jwksUrl'> {
  /** The `typ` header of a call assertion. No other token of the gateway has this type. */
  type: string
}

/** Once the gateway has dropped a revoked signing key, it is accepted for at most this time. */
const jwksMaxAgeMs = 30_000

const jwksTimeoutMs = 3_000
/** Thousands of keys. */
const maxJwksBytes = 1_000_000

/**
 * The first stage of a domain service (`serve --role domains`). Throws ACCESS.TOKEN_MISSING or ACCESS.TOKEN_INVALID.
 */
export function callAssertionStage(settings: CallAssertionSettings, clock: Clock): Stage {
  const keys = createKeyLookup(settings.jwksUrl)
  const options = {
    issuer: settings.issuer,
    audience: settings.audience,
    algorithms: ['EdDSA'],
    typ: settings.type,
    requiredClaims: ['exp', 'iat'],
    clockTolerance: settings.clockSkewMs / 1_000,
  }
  const verify = async (token: string): Promise<Claims> => {
    const currentDate = toDate(clock.now())
    const verified = await jwtVerify(token, keys, { ...options, currentDate }).catch((cause: unknown) => {
      throw cause instanceof Refusal ? cause : invalidToken('call assertion', cause)
    })
    const claims = AssertionClaims.safeParse(verified.payload)
    if (!claims.success) throw invalidToken('claims of the call assertion')
    return claims.data
  }
  return async (call) => {
    const claims = await verify(readToken(call))
    assertMayCall(claims, call.operation)
    setCaller(call, claims)
    setRequestFacts(call)
    assertHooks(call)
    assertPolicyMet(call)
  }
}

/** If the keys cannot be fetched, the token may be valid, so the lookup throws SYSTEM.UNAVAILABLE. */
function createKeyLookup(url: string): JWTVerifyGetKey {
  const findKey = createRemoteJWKSet(new URL(url), {
    timeoutDuration: jwksTimeoutMs,
    cooldownDuration: 1_000,
    cacheMaxAge: jwksMaxAgeMs,
    [customFetch]: async (address) => {
      const { status, text } = await fetchText(address, { timeoutMs: jwksTimeoutMs, maxBytes: maxJwksBytes })
      return new Response(text, { status })
    },
  })
  return (header, token) =>
    findKey(header, token).catch((cause: unknown) => {
      if (isUnknownKey(cause)) throw cause
      throw new Refusal('SYSTEM.UNAVAILABLE', {
        retryAfter: 1,
        internal: 'cannot fetch the keys of the gateway',
        cause,
      })
    })
}

function isUnknownKey(error: unknown): boolean {
  return error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys
}

function invalidToken(internal: string, cause?: unknown): Refusal {
  return new Refusal('ACCESS.TOKEN_INVALID', { internal, cause })
}

function readToken(call: Call): string {
  const token = /^Bearer (.+)$/.exec(call.headers.optional('authorization') ?? '')?.[1]
  if (token === undefined) throw new Refusal('ACCESS.TOKEN_MISSING')
  if (!isCompactJws(token)) throw invalidToken('call assertion is not a canonical JWS')
  return token
}

/** An API key's assertion is valid only for operations that machines can call. */
function assertMayCall({ portal, key }: Claims, operation: Operation): void {
  if (!isOnPortal(portal, operation)) throw invalidToken('call assertion of another portal')
  if (key !== undefined && !isOnMachineChain(operation)) throw invalidToken('call assertion of an API key')
}

function isOnPortal(portal: Portal, operation: Operation): boolean {
  return operation.chains.some((id) => isChainOf(chains[id], portal))
}

function isOnMachineChain({ chains: ids }: Operation): boolean {
  return ids.some((id) => chains[id].perimeter === 'machine')
}

function setCaller(call: Call, claims: Claims): void {
  const { sub, sid, key, steppedUpAt, workspace } = claims
  call.portal = claims.portal
  if (sub)
    call.caller = {
      accountId: bizId(sub),
      portal: claims.portal,
      sessionId: sid ? bizId(sid) : null,
      apiKeyId: key ?? null,
      steppedUpAt: steppedUpAt === undefined ? null : toInstant(steppedUpAt),
      permissions: toSet(claims.permissions),
    }
  if (workspace) call.workspace = { ...workspace, id: bizId(workspace.id), permissions: toSet(workspace.permissions) }
}

function toSet(list: Permission[]): ReadonlySet<Permission> {
  return new Set(list)
}

/** The gateway sends these headers with every call (upstream/request.ts). */
function setRequestFacts(call: Call): void {
  call.locale = parseLocale(call.headers.optional(headers.locale.field))
  call.clientIp = call.headers.optional('x-client-ip') ?? ''
  call.userAgent = decode(call.headers.optional('x-client-user-agent') ?? '')
  call.country = call.headers.optional('x-client-country') ?? 'XX'
  call.headOnly ||= call.headers.optional('x-client-method') === 'HEAD'
}

/** A service that lacks an extension of its gateway must not skip its hooks. */
function assertHooks({ operation: { id, before = [] }, headers: sent }: Call): void {
  const missing = (sent.optional(hooksHeader) ?? '').split(',').filter((name) => name !== '' && !before.includes(name))
  if (missing.length === 0) return
  const internal = `${id} needs the hooks of ${missing.join(', ')}: give this service the extensions of its gateway`
  throw new Refusal('SYSTEM.INTERNAL_ERROR', { internal })
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

function assertPolicyMet({ operation: { policy }, caller, workspace }: Call): void {
  if (policy.caller === 'account' && !caller) throw new Refusal('ACCESS.TOKEN_MISSING')
  if (policy.workspace !== 'none' && !workspace) throw new Refusal('ACCESS.WORKSPACE_REQUIRED')
}
