import { statusOf } from '../contract/index.ts'
import { type ChainId, type Code, chains, type Operation } from '../kernel/index.ts'
import type { HeaderChanges } from './probe.ts'

/** One promise of the contract: which operations it holds for, what is changed in a proper call, what that gets. */
export interface Check {
  name: string
  applies(operation: Operation, chainId: ChainId): boolean
  change: HeaderChanges
  status: number
  /** Null where the chain speaks other codes. */
  code: string | null
}

const behindPortal = (_operation: Operation, chainId: ChainId): boolean => chains[chainId].perimeter === 'portal'
const forAccounts = ({ policy }: Operation, chainId: ChainId): boolean =>
  policy.caller === 'account' && chains[chainId].perimeter !== 'self'

const refused = (name: string, applies: Check['applies'], change: HeaderChanges, code: Code): Check => ({
  name,
  applies,
  change,
  code,
  status: statusOf(code),
})

const demanded = ['x-request-id', 'x-client-hash', 'x-locale']

export const checks: Check[] = [
  refused(
    'a missing access code is refused first',
    behindPortal,
    { 'x-portal-access-code': null, 'x-request-id': null },
    'ACCESS.PORTAL_MISMATCH',
  ),
  refused(
    'a wrong access code is refused first',
    behindPortal,
    { 'x-portal-access-code': 'no-such-code', 'x-locale': null },
    'ACCESS.PORTAL_MISMATCH',
  ),
  ...demanded.map((name) =>
    refused(`${name} is demanded`, behindPortal, { [name]: null }, 'VALIDATION.INVALID_PARAMETER'),
  ),
  refused(
    'a malformed X-Request-Id is refused',
    behindPortal,
    { 'x-request-id': 'a'.repeat(200) },
    'VALIDATION.INVALID_PARAMETER',
  ),
  refused('a token is demanded', forAccounts, {}, 'ACCESS.TOKEN_MISSING'),
  refused('another scheme is no token', forAccounts, { authorization: 'Basic eDp5' }, 'ACCESS.TOKEN_MISSING'),
  refused('garbage is no token', forAccounts, { authorization: 'Bearer garbage' }, 'ACCESS.TOKEN_INVALID'),
  {
    name: 'users/self speaks 4010',
    applies: (_operation, chainId) => chains[chainId].perimeter === 'self',
    change: { authorization: 'Bearer garbage' },
    status: 401,
    code: '4010',
  },
]
