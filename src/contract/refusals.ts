import { type ChainId, type Code, chains, type Operation } from '../kernel/index.ts'
import { isSealable } from './sealed-bodies.ts'

/**
 * A mistake of the caller that the interface answers with 500. It is documented behavior, not a fault;
 * `compatibility.observedErrors: false` in a portal's configuration turns it into a 400.
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

/** The codes with which the pipeline can refuse an operation on a chain, by its perimeter and policy. */
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

/** Every refusal code of an operation on a chain, without duplicates. */
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

/** The code for a path parameter that does not match its schema. */
export const codeForMalformedParam = ({ malformedParam, refuses }: Operation): Code =>
  malformedParam ?? (refuses.includes('RESOURCE.NOT_FOUND') ? 'RESOURCE.NOT_FOUND' : 'VALIDATION.INVALID_PARAMETER')
