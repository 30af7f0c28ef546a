import * as z from 'zod'
import {
  type Chain,
  type ChainId,
  type Code,
  chains,
  domainOf,
  needsApiKey,
  type Operation,
  type Policy,
} from '../kernel/index.ts'
import { observedErrors } from './observed-errors.ts'

/*
 * Contract files spread these bases. A base omits the fields that each operation must decide, so that TypeScript
 * reports a forgotten one.
 */

/** Public operations. */
export const anonymous = {
  caller: 'anonymous',
  workspace: 'none',
  permission: null,
  stepUp: false,
  channel: 'optional',
  rate: 'general',
  idempotent: false,
  changesRights: false,
} as const satisfies Policy

/** Operations on the caller's own account, without a permission. */
export const own = { ...anonymous, caller: 'account' } as const satisfies Policy

/** Operations of a workspace's members. */
export const member = {
  caller: 'account',
  stepUp: false,
  channel: 'optional',
  rate: 'general',
  idempotent: false,
  changesRights: false,
} as const

/** A member's money command, which is idempotent. */
export const money = { ...member, rate: 'money', idempotent: true } as const

/** Operations of the SYSTEM portal's operators. */
export const operator = { ...member, workspace: 'none' } as const

/** An operator's decision on an order, with a step-up. Idempotent. */
export const decision = { ...operator, stepUp: true, rate: 'money', idempotent: true } as const

/** The chains of both portals. */
export const everyPortal = ['consumer', 'system'] as const

export const SealedBody = /* @__PURE__ */ z.strictObject({ payload: /* @__PURE__ */ z.string() }).meta({
  description:
    'Request body sent through the secure channel: a compact JWE (RFC 7516) with the header ' +
    '`{alg: dir, enc: A256GCM, kid, seq, htm, htu}`. Its plaintext is the JSON body.',
})

/** The envelope's `data` in a sealed reply (docs/reference/secure-channel.md). */
export const SealedReply = /* @__PURE__ */ z.object({ payload: /* @__PURE__ */ z.string() }).meta({
  description:
    'Response data sent through the secure channel if the request has `X-Secure-Channel-Reply`: a compact JWE (RFC 7516) ' +
    'with the header `{alg: dir, enc: A256GCM, kid, seq}`, without `seq` if the request body was not sealed. Its plaintext ' +
    'is the JSON data.',
})
export type SealedReply = z.output<typeof SealedReply>

export function isSealable({ policy }: Operation, { perimeter }: Chain): boolean {
  return perimeter === 'portal' && policy.channel === 'optional'
}

/** The query parameter with a one-time ticket. */
export const ticketParameter = 'ticket'

/**
 * Whether a ticket can take the place of the headers, because links, images and EventSource send none. An operation with a
 * parameter of this name keeps it.
 */
export function takesTicket({ method, policy, query, reply }: Operation, { perimeter, portal }: Chain): boolean {
  const isDownload = method === 'GET' && (reply === 'stream' || reply === 'events')
  const isOwnParameter = query instanceof z.ZodObject && ticketParameter in query.shape
  return isDownload && policy.caller === 'account' && perimeter !== 'machine' && portal !== 'code' && !isOwnParameter
}

const failures: readonly Code[] = [
  'SYSTEM.INTERNAL_ERROR',
  'SYSTEM.UPSTREAM_INVALID_RESPONSE',
  'SYSTEM.UNAVAILABLE',
  'SYSTEM.UPSTREAM_TIMEOUT',
]

/** A GET may have a body, too (RFC 9110, 9.3.1). */
const bodyRefusals: readonly Code[] = [
  'REQUEST.MALFORMED',
  'REQUEST.TIMEOUT',
  'REQUEST.TOO_LARGE',
  'REQUEST.UNSUPPORTED_MEDIA_TYPE',
]

export function listImpliedRefusals(operation: Operation, chainId: ChainId): Code[] {
  const { policy } = operation
  const { perimeter } = chains[chainId]
  const isBehindPortal = perimeter === 'portal'
  const takesCookie = perimeter !== 'machine' && (policy.caller === 'account' || operation.describesCaller === true)
  const rules: [boolean, readonly Code[]][] = [
    [isBehindPortal, ['ACCESS.PORTAL_MISMATCH']],
    [true, ['VALIDATION.INVALID_PARAMETER', 'ACCESS.RATE_LIMITED', ...bodyRefusals]],
    [isSealable(operation, chains[chainId]), ['SECURE_CHANNEL.INVALID_PAYLOAD']],
    [policy.caller === 'account', ['ACCESS.TOKEN_MISSING', 'ACCESS.TOKEN_INVALID', 'ACCESS.IP_NOT_ALLOWED']],
    [takesCookie, ['ACCESS.COOKIE_INVALID', 'ACCESS.ORIGIN_NOT_ALLOWED', 'ACCESS.IP_NOT_ALLOWED']],
    [takesTicket(operation, chains[chainId]), ['ACCESS.TICKET_INVALID']],
    [operation.startsBrowserSession === true, ['ACCESS.ORIGIN_NOT_ALLOWED']],
    [policy.workspace !== 'none', ['ACCESS.WORKSPACE_REQUIRED', 'ACCESS.PERMISSION_DENIED', 'WORKSPACE.NOT_ACTIVE']],
    [policy.permission !== null, ['ACCESS.PERMISSION_DENIED']],
    [needsMoreThanSession(operation) && !needsApiKey(chains[chainId]), ['ACCESS.PASSKEY_REQUIRED']],
    [policy.stepUp !== false, ['ACCESS.STEP_UP_REQUIRED']],
    [policy.idempotent, ['REQUEST.IN_PROGRESS', 'REQUEST.ID_REUSED']],
    [operation.reply === 'socket', ['ACCESS.ORIGIN_NOT_ALLOWED', 'REQUEST.UPGRADE_REQUIRED']],
    [true, failures],
  ]
  return [...new Set(rules.flatMap(([applies, codes]) => (applies ? codes : [])))]
}

export function listRefusals(operation: Operation, chainId: ChainId): Code[] {
  const observed = observedErrors.get(operation.id)
  return [
    ...new Set([
      ...listImpliedRefusals(operation, chainId),
      ...operation.refuses,
      ...(observed ? [observed.code] : []),
    ]),
  ]
}

const securityDomains: ReadonlySet<string> = new Set([
  'auth',
  'browserSessions',
  'ipWhitelist',
  'mfa',
  'passkeys',
  'password',
  'providers',
  'sessions',
])

/** Whether an operation of an account manages its sign-in, its sessions and its factors. */
export function securesAccount({ id }: Pick<Operation, 'id'>): boolean {
  return securityDomains.has(domainOf(id))
}

const declaredCodes = new WeakMap<Operation, ReadonlySet<Code>>()

/** Whether an operation lists a code in `refuses`, or its policy implies it. Every operation can fail with `SYSTEM.*`. */
export function declaresRefusal(operation: Operation, code: Code): boolean {
  const declared =
    declaredCodes.get(operation) ?? new Set(operation.chains.flatMap((chainId) => listRefusals(operation, chainId)))
  declaredCodes.set(operation, declared)
  return code.startsWith('SYSTEM.') || declared.has(code)
}

/** Codes of the gateway itself, its routes and its tokens. Upstreams must not use them. */
export function isGatewayCode(code: Code): boolean {
  return /^(SYSTEM\.|ROUTE\.|ACCESS\.TOKEN)/.test(code)
}

/** Checks that the gateway makes before it calls a service. */
const perimeterCodes: ReadonlySet<Code> = new Set<Code>([
  ...bodyRefusals,
  'ACCESS.PORTAL_MISMATCH',
  'ACCESS.IP_NOT_ALLOWED',
  'ACCESS.PASSKEY_REQUIRED',
  'ACCESS.WORKSPACE_REQUIRED',
  'ACCESS.ORIGIN_NOT_ALLOWED',
  'ACCESS.TICKET_INVALID',
  'REQUEST.UPGRADE_REQUIRED',
  'SECURE_CHANNEL.INVALID_PAYLOAD',
])

/** The refusals that a service behind the gateway can return for an operation. */
export function listServiceRefusals(operation: Operation): Code[] {
  return listRefusals(operation, operation.chains[0]).filter(
    (code) => !isGatewayCode(code) && !perimeterCodes.has(code),
  )
}

export function codeForMalformedParam({ malformedParam, refuses }: Operation): Code {
  return (
    malformedParam ?? (refuses.includes('RESOURCE.NOT_FOUND') ? 'RESOURCE.NOT_FOUND' : 'VALIDATION.INVALID_PARAMETER')
  )
}

/** A session without a passkey is enough to secure an account, even with `mfa.required.passkey: all`. */
function needsMoreThanSession({ policy, ...operation }: Operation): boolean {
  return policy.permission !== null || (policy.caller === 'account' && !securesAccount(operation))
}
