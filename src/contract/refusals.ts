import { type ChainId, type Code, chains, type Operation } from '../kernel/index.ts'
import { observedErrors } from './observed-errors.ts'
import { isSealable } from './sealed.ts'

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
export const impliedRefusals = (operation: Operation, chainId: ChainId): Code[] => {
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
export const allRefusals = (operation: Operation, chainId: ChainId): Code[] => {
  const observed = observedErrors.get(operation.id)
  return [
    ...new Set([...impliedRefusals(operation, chainId), ...operation.refuses, ...(observed ? [observed.code] : [])]),
  ]
}
