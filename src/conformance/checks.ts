import { everySessionCookie } from '../contract/headers.ts'
import { statusOf } from '../contract/index.ts'
import { type ChainId, type Code, chains, fixedPortals, type Operation, type Portal } from '../kernel/index.ts'
import type { HeaderChanges } from './probe.ts'

/** One guarantee of the contract, and a request that violates it. */
export interface Check {
  name: string
  applies(operation: Operation, chainId: ChainId): boolean
  change: HeaderChanges
  status: number
  /** Null if the code depends on the chain. */
  code: string | null
  /** Whether the response must repeat Idempotency-Key. */
  repeatsKey?: true
  /** An edge may set the header that the request lacks, so the check applies only without an edge. */
  withoutEdge?: true
}

const requiredHeaders = ['x-client-hash', 'x-locale']

const unknownCookie = 'A'.repeat(43)

/** `additional`: the portals besides CONSUMER and SYSTEM. */
export function checksFor(additional: readonly Portal[]): Check[] {
  const fromOwnPage = (value: string): HeaderChanges => ({
    cookie: everySessionCookie(value, [...fixedPortals, ...additional]),
    'sec-fetch-site': 'same-origin',
  })
  return [
    expectRefusal(
      'a missing access code is refused first',
      isBehindPortal,
      { 'x-portal-access-code': null, 'x-request-id': null },
      'ACCESS.PORTAL_MISMATCH',
    ),
    expectRefusal(
      'a wrong access code is refused first',
      isBehindPortal,
      { 'x-portal-access-code': 'no-such-code', 'x-locale': null },
      'ACCESS.PORTAL_MISMATCH',
    ),
    { ...expectHeader('x-request-id'), withoutEdge: true },
    ...requiredHeaders.map(expectHeader),
    expectRefusal(
      'a malformed X-Request-Id is refused',
      isBehindPortal,
      { 'x-request-id': 'a'.repeat(200) },
      'VALIDATION.INVALID_PARAMETER',
    ),
    expectRefusal('a token is required', needsToken, {}, 'ACCESS.TOKEN_MISSING'),
    {
      ...expectRefusal(
        'Idempotency-Key reaches the gateway',
        (operation, chainId) => operation.policy.idempotent && needsToken(operation, chainId),
        { 'idempotency-key': '"portico-conformance"' },
        'ACCESS.TOKEN_MISSING',
      ),
      repeatsKey: true,
    },
    expectRefusal('only bearer tokens count', needsToken, { authorization: 'Basic eDp5' }, 'ACCESS.TOKEN_MISSING'),
    expectRefusal(
      'an invalid token is refused',
      needsToken,
      { authorization: 'Bearer garbage' },
      'ACCESS.TOKEN_INVALID',
    ),
    expectRefusal(
      'an unknown session cookie is refused',
      takesCookie,
      fromOwnPage(unknownCookie),
      'ACCESS.TOKEN_INVALID',
    ),
    expectRefusal('a malformed session cookie is refused', takesCookie, fromOwnPage('x'), 'ACCESS.COOKIE_INVALID'),
    expectRefusal(
      'a session cookie with a token is refused',
      takesCookie,
      { ...fromOwnPage(unknownCookie), authorization: 'Bearer garbage' },
      'ACCESS.COOKIE_INVALID',
    ),
    expectRefusal(
      'a session cookie from another site is refused',
      takesCookie,
      { ...fromOwnPage(unknownCookie), 'sec-fetch-site': 'cross-site' },
      'ACCESS.ORIGIN_NOT_ALLOWED',
    ),
    expectRefusal(
      'a session cookie from another origin is refused',
      takesCookie,
      { ...fromOwnPage(unknownCookie), origin: 'https://portico-conformance.invalid' },
      'ACCESS.ORIGIN_NOT_ALLOWED',
    ),
    {
      name: 'users/self replies with code 4010',
      applies: (_operation, chainId) => chains[chainId].perimeter === 'self',
      change: { authorization: 'Bearer garbage' },
      status: 401,
      code: '4010',
    },
  ]
}

function expectRefusal(name: string, applies: Check['applies'], change: HeaderChanges, code: Code): Check {
  return {
    name,
    applies,
    change,
    code,
    status: statusOf(code),
  }
}

function expectHeader(name: string): Check {
  return expectRefusal(`${name} is required`, isBehindPortal, { [name]: null }, 'VALIDATION.INVALID_PARAMETER')
}

function isBehindPortal(_operation: Operation, chainId: ChainId): boolean {
  return chains[chainId].perimeter === 'portal'
}

function takesCookie(operation: Operation, chainId: ChainId): boolean {
  return needsToken(operation, chainId) && chains[chainId].perimeter === 'portal'
}

function needsToken({ policy }: Operation, chainId: ChainId): boolean {
  return policy.caller === 'account' && chains[chainId].perimeter !== 'self'
}
