import { type ChainId, type Code, chains, type Operation } from '../kernel/index.ts'
import { isSealable } from './sealed-bodies.ts'

/**
 * Where the interface is observed to answer 500 for what is a caller's mistake (interface.md 4.3, 4.7). Documented
 * behaviour, not a fault; `compatibility.observedErrors: false` in a portal's configuration makes it a 400.
 */
export interface ObservedError {
  /** `no-query`: the call has no query parameter at all. `no-channel-session`: no header names a channel session. */
  condition: 'no-query' | 'no-channel-session'
  code: Code
}

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

/** What a body can meet on its way in; one may come with a GET too (RFC 9110, 9.3.1), and is read like any other. */
const arriving: readonly Code[] = [
  'REQUEST.MALFORMED',
  'REQUEST.TIMEOUT',
  'REQUEST.TOO_LARGE',
  'REQUEST.UNSUPPORTED_MEDIA_TYPE',
]

/** What the pipeline may refuse for an operation on a chain: it follows from the perimeter and the policy. */
export const listImpliedRefusals = (operation: Operation, chainId: ChainId): Code[] => {
  const { policy } = operation
  const behindPortal = chains[chainId].perimeter === 'portal'
  const rules: [boolean, readonly Code[]][] = [
    [behindPortal, ['ACCESS.PORTAL_MISMATCH']],
    [true, ['VALIDATION.INVALID_PARAMETER', 'ACCESS.RATE_LIMITED', ...arriving]],
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

/** Every code that an operation can answer on a chain, each once. */
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
