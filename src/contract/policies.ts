/*
 * Policies and what they imply: the bases that contract files spread, the form of sealed bodies, and the implied
 * refusals.
 */
import * as z from 'zod'
import { type Chain, type ChainId, type Code, chains, type Operation, type Policy } from '../kernel/index.ts'

/*
 * Bases that policies spread. A base omits the fields that each operation must decide, so that forgetting one is a type
 * error: `member` omits the workspace and the permission, `operator` the permission.
 */

/** Public operations, before and after sign-in. */
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

/** Operations on the caller's own account. They need no permission. */
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

/** A member's money command, idempotent by X-Request-Id. */
export const money = { ...member, rate: 'money', idempotent: true } as const

/** Operations of the SYSTEM portal's operators. */
export const operator = { ...member, workspace: 'none' } as const

/** An operator's decision on an order, idempotent by X-Request-Id. */
export const decision = { ...operator, rate: 'money', idempotent: true } as const

/** The chains of operations that both portals offer. */
export const everyPortal = ['consumer', 'system'] as const

/** The request body sent through the secure channel (docs/reference/secure-channel.md). */
export const SealedBody = z.strictObject({ payload: z.string() }).meta({
  description:
    'Request body sent through the secure channel: a compact JWE (RFC 7516) with the header ' +
    '`{alg: dir, enc: A256GCM, kid, seq, htm, htu}`. Its plaintext is the JSON body.',
})

/** The envelope's `data` in a sealed reply (docs/reference/secure-channel.md). */
export const SealedReply = z.object({ payload: z.string() }).meta({
  description:
    'Response data sent through the secure channel if the request has `X-Secure-Channel-Reply`: a compact JWE (RFC 7516) ' +
    'with the header `{alg: dir, enc: A256GCM, kid, seq}`, without `seq` if the request body was not sealed. Its plaintext ' +
    'is the JSON data.',
})
export type SealedReply = z.output<typeof SealedReply>

/** Whether the secure channel can carry an operation's body and reply: on portal chains only, if the policy allows it. */
export const isSealable = ({ policy }: Operation, { perimeter }: Chain): boolean =>
  perimeter === 'portal' && policy.channel === 'optional'

/**
 * A mistake of the caller for which the interface documents the status 500. It is not a fault of the gateway. With
 * `compatibility.observedErrors: false`, a portal responds with 400 instead.
 */
export interface ObservedError {
  /** `no-query`: the call has no query parameter. `no-channel-session`: no header names a channel session. */
  condition: 'no-query' | 'no-channel-session'
  code: Code
}

/** The observed errors by operation id. */
export const observedErrors: ReadonlyMap<string, ObservedError> = new Map<string, ObservedError>([
  ['transfers.list', { condition: 'no-query', code: 'SYSTEM.INTERNAL_ERROR' }],
  ['secureChannel.close', { condition: 'no-channel-session', code: 'SYSTEM.INTERNAL_ERROR' }],
])

const failures: readonly Code[] = [
  'SYSTEM.INTERNAL_ERROR',
  'SYSTEM.UPSTREAM_INVALID_RESPONSE',
  'SYSTEM.UNAVAILABLE',
  'SYSTEM.UPSTREAM_TIMEOUT',
]

/** Refusals while a body is read. A GET can have a body, too (RFC 9110, 9.3.1). */
const bodyRefusals: readonly Code[] = [
  'REQUEST.MALFORMED',
  'REQUEST.TIMEOUT',
  'REQUEST.TOO_LARGE',
  'REQUEST.UNSUPPORTED_MEDIA_TYPE',
]

/** Returns the codes with which the pipeline can refuse an operation on a chain, by its perimeter and policy. */
export const listImpliedRefusals = (operation: Operation, chainId: ChainId): Code[] => {
  const { policy } = operation
  const isBehindPortal = chains[chainId].perimeter === 'portal'
  const rules: [boolean, readonly Code[]][] = [
    [isBehindPortal, ['ACCESS.PORTAL_MISMATCH']],
    [true, ['VALIDATION.INVALID_PARAMETER', 'ACCESS.RATE_LIMITED', ...bodyRefusals]],
    [isSealable(operation, chains[chainId]), ['SECURE_CHANNEL.INVALID_PAYLOAD']],
    [policy.caller === 'account', ['ACCESS.TOKEN_MISSING', 'ACCESS.TOKEN_INVALID', 'ACCESS.IP_NOT_ALLOWED']],
    [policy.workspace !== 'none', ['ACCESS.WORKSPACE_REQUIRED', 'ACCESS.PERMISSION_DENIED', 'WORKSPACE.NOT_ACTIVE']],
    [policy.permission !== null, ['ACCESS.PERMISSION_DENIED']],
    [policy.stepUp, ['ACCESS.STEP_UP_REQUIRED']],
    [policy.idempotent, ['REQUEST.IN_PROGRESS', 'REQUEST.ID_REUSED']],
    [true, failures],
  ]
  return [...new Set(rules.flatMap(([applies, codes]) => (applies ? codes : [])))]
}

/** Returns every refusal code of an operation on a chain, without duplicates. */
export const listRefusals = (operation: Operation, chainId: ChainId): Code[] => {
  const observed = observedErrors.get(operation.id)
  return [
    ...new Set([
      ...listImpliedRefusals(operation, chainId),
      ...operation.refuses,
      ...(observed ? [observed.code] : []),
    ]),
  ]
}

/** Returns the code for a path parameter that does not match its schema. */
export const codeForMalformedParam = ({ malformedParam, refuses }: Operation): Code =>
  malformedParam ?? (refuses.includes('RESOURCE.NOT_FOUND') ? 'RESOURCE.NOT_FOUND' : 'VALIDATION.INVALID_PARAMETER')
