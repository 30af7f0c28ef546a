import { everySessionCookie } from '../../contract/headers.ts'
import { fixedPortals, isRecord, portalOfChain } from '../../kernel/index.ts'
import { accessCodes, type Call } from '../http.ts'
import { isBehindPortal, isInWorkspace, needsAccount, type Route, unknownId } from '../routes.ts'
import { bearer, type World } from '../world.ts'
import { outcomeOf, type Suite } from './suite.ts'

/** Well-formed. No gateway has issued it. */
const unknownValue = 'A'.repeat(43)

type Request = Pick<Call, 'headers' | 'body'>

const accessCodeCases: Readonly<Record<string, string | null>> = {
  missing: null,
  wrong: 'consumer-dev2',
  'in another case': 'Consumer-Dev',
  repeated: 'consumer-dev, consumer-dev',
}

const requiredNames = [
  'x-request-id',
  'x-client-hash',
  'x-forwarded-proto',
  'cf-connecting-ip',
  'cf-ray',
  'cf-ipcountry',
  'x-locale',
]

/**
 * Access code, headers, token and workspace, each missing and wrong. A refusal has the envelope, and a 401 names the
 * scheme (RFC 9110, 15.5.2).
 */
export function registerPerimeter(routes: readonly Route[], { runner, world }: Suite): void {
  const { test, assertEqual } = runner

  const testRefused = (
    { name, method, path, chain }: Route,
    [status, code, guarantee]: readonly [number, string, string],
    requestsOf: (world: World) => Readonly<Record<string, Request>>,
  ): void =>
    test(`${name} ${status} ${code}: ${guarantee}`, async () => {
      for (const [what, request] of Object.entries(requestsOf(world()))) {
        const reply = await world().gateway.call(method, path, request)
        assertEqual(outcomeOf(reply), [status, code], what)
        const body = isRecord(reply.body) ? reply.body : {}
        assertEqual([body.success, body.data, body.version], [false, null, chain.envelope], `${what}: envelope`)
        assertEqual(
          [typeof body.message, typeof body.timestamp, body.message !== ''],
          ['string', 'number', true],
          `${what}: envelope`,
        )
        assertEqual(reply.headers.get('www-authenticate'), status === 401 ? 'Bearer' : null, `${what}: challenge`)
        const [header] = code === 'VALIDATION.INVALID_PARAMETER' ? Object.keys(request.headers ?? {}) : []
        if (header) assertEqual(String(body.message).includes(header), true, `${what}: names the header`)
      }
    })

  for (const route of routes) {
    const { chain, chainId, method, operation } = route
    const isPosted = method !== 'GET'
    const own = portalOfChain(chain)
    const portals = own === null ? fixedPortals : [own]
    const unknownCookie = everySessionCookie(unknownValue, portals)
    if (chain.perimeter === 'machine')
      testRefused(route, [401, 'ACCESS.TOKEN_MISSING', 'without a token, and without the headers of a portal'], () => ({
        'no header': {
          headers: { 'x-portal-access-code': null, 'x-client-hash': null, 'x-locale': null, 'cf-connecting-ip': null },
        },
      }))
    if (!isBehindPortal(route)) continue

    testRefused(route, [403, 'ACCESS.PORTAL_MISMATCH', 'with a wrong access code, before any other check'], () => ({
      ...Object.fromEntries(
        Object.entries(accessCodeCases).map(([name, value]) => [
          name,
          { headers: { 'x-portal-access-code': value, 'x-request-id': null, 'x-client-hash': null } },
        ]),
      ),
      ...(own !== null &&
        Object.fromEntries(
          fixedPortals
            .filter((portal) => portal !== own)
            .map((portal) => [`of ${portal}`, { headers: { 'x-portal-access-code': accessCodes[portal] } }]),
        )),
    }))

    testRefused(route, [400, 'VALIDATION.INVALID_PARAMETER', 'without a required header'], () =>
      Object.fromEntries(requiredNames.map((name) => [name, { headers: { [name]: null } }])),
    )

    if (!needsAccount(route)) continue
    testRefused(route, [401, 'ACCESS.TOKEN_MISSING', 'without a bearer token, with any body'], () => ({
      'no token': isPosted ? { body: '{"broken' } : {},
      'another scheme': { headers: { authorization: 'Basic eDp5' } },
    }))

    testRefused(route, [401, 'ACCESS.TOKEN_INVALID', 'with an invalid token, with any body'], ({ owner, operator }) => {
      const [own, other] = chainId === 'system' ? [operator, owner] : [owner, operator]
      return {
        garbage: { headers: { authorization: 'Bearer garbage' }, ...(isPosted && { body: '[' }) },
        'of the other portal': { headers: bearer(other) },
        'of another client': { headers: { ...bearer(own), 'x-client-hash': 'another-client' } },
        'with a suffix': { headers: { ...bearer(own), authorization: `Bearer ${own.accessToken} more` } },
      }
    })

    testRefused(route, [403, 'ACCESS.ORIGIN_NOT_ALLOWED', 'with a session cookie from another site or origin'], () => ({
      'another site': { headers: { cookie: unknownCookie, 'sec-fetch-site': 'cross-site' } },
      'another sub-domain': { headers: { cookie: unknownCookie, 'sec-fetch-site': 'same-site' } },
      'another origin': { headers: { cookie: unknownCookie, origin: 'https://evil.test' } },
      'an opaque origin': { headers: { cookie: unknownCookie, origin: 'null' } },
      'no Sec-Fetch-Site': { headers: { cookie: unknownCookie, 'sec-fetch-site': null } },
    }))

    testRefused(
      route,
      [400, 'ACCESS.COOKIE_INVALID', 'with an ambiguous or malformed session cookie'],
      ({ owner }) => ({
        'two cookies': { headers: { cookie: `${unknownCookie}; ${unknownCookie}` } },
        malformed: { headers: { cookie: everySessionCookie('x', portals) } },
        'with a token': { headers: { ...bearer(owner), cookie: unknownCookie } },
      }),
    )

    if (operation.policy.workspace === 'required')
      testRefused(route, [400, 'ACCESS.WORKSPACE_REQUIRED', 'without X-Workspace-Id'], (world) => ({
        'no workspace': { headers: bearer(world.ownerOf(route)) },
      }))
    if (isInWorkspace(route))
      testRefused(route, [403, 'ACCESS.PERMISSION_DENIED', 'in a workspace of others'], (world) =>
        Object.fromEntries(
          [unknownId, 'not-an-id', '../x'].map((workspace) => [
            workspace,
            { headers: { ...bearer(world.ownerOf(route)), 'x-workspace-id': workspace } },
          ]),
        ),
      )
  }
}
