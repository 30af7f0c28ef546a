import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { portalRoutes, type Route, routes, unknownId } from '../harness/catalogue.ts'
import type { Answer, Call } from '../harness/http.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { signIn } from '../harness/sign-in.ts'
import { storeIsAvailable } from '../harness/store.ts'

/** The checks that the policy of every operation implies, on every chain. */
describe.skipIf(!storeIsAvailable())('the perimeter', () => {
  let portico: Portico
  const tokens = { consumer: '', system: '' }

  beforeAll(async () => {
    portico = await startPortico()
    tokens.consumer = (await signIn(portico)).accessToken
    tokens.system = (await signIn(portico, 'operator@demo.test')).accessToken
  })
  afterAll(() => portico?.stop())

  const tokenFor = ({ chainId }: Route): string => (chainId === 'system' ? tokens.system : tokens.consumer)
  const request = (route: Route, call: Call): Promise<Answer> => portico.call(route.method, route.path, call)
  const outcome = ({ status, body }: Answer) => [status, body?.code]

  /** Calls every route and returns those with another response. */
  const assertAll = async (routes: Route[], expected: unknown[], call: (route: Route) => Call): Promise<void> => {
    expect(routes.length).toBeGreaterThan(0)
    const others: string[] = []
    for (const route of routes) {
      const response = await request(route, call(route))
      const got = outcome(response)
      if (JSON.stringify(got) !== JSON.stringify(expected)) others.push(`${route.name}: ${JSON.stringify(got)}`)
      const { success, data, version, timestamp, message } = response.body
      if (success !== false || data !== null || !version || !timestamp || !message)
        others.push(`${route.name}: no envelope`)
      // A 401 names the required scheme (RFC 9110, 15.5.2).
      const challenge = response.headers.get('www-authenticate')
      if (challenge !== (response.status === 401 ? 'Bearer' : null))
        others.push(`${route.name}: challenge ${challenge}`)
    }
    expect(others).toEqual([])
  }

  const accountRoutes = portalRoutes.filter(({ operation }) => operation.policy.caller === 'account')

  test.each([
    ['missing', { 'x-portal-access-code': null }],
    ['wrong', { 'x-portal-access-code': 'consumer-dev2' }],
    ['in another case', { 'x-portal-access-code': 'Consumer-Dev' }],
    ['repeated', { 'x-portal-access-code': 'consumer-dev, consumer-dev' }],
  ])('403 ACCESS.PORTAL_MISMATCH for an access code that is %s, before any other check', async (_, headers) => {
    await assertAll(portalRoutes, [403, 'ACCESS.PORTAL_MISMATCH'], () => ({
      headers: { ...headers, 'x-request-id': null, 'x-client-hash': null },
    }))
  })

  test("403 ACCESS.PORTAL_MISMATCH with the other portal's access code", async () => {
    const bound = portalRoutes.filter(({ chainId }) => chainId !== 'shared')
    await assertAll(bound, [403, 'ACCESS.PORTAL_MISMATCH'], ({ chainId }) => ({
      headers: { 'x-portal-access-code': chainId === 'system' ? 'consumer-dev' : 'system-dev' },
    }))
  })

  const requiredNames = [
    'x-request-id',
    'x-client-hash',
    'x-forwarded-proto',
    'cf-connecting-ip',
    'cf-ray',
    'cf-ipcountry',
    'x-locale',
  ]
  test.each(requiredNames)('400 VALIDATION.INVALID_PARAMETER without %s, with its field', async (name) => {
    await assertAll(portalRoutes, [400, 'VALIDATION.INVALID_PARAMETER'], () => ({ headers: { [name]: null } }))
    const [route] = portalRoutes
    if (route) expect((await request(route, { headers: { [name]: null } })).body.message).toContain(name)
  })

  test.each([
    ...['1', '127.1', '0x7f.0.0.1', '010.0.0.1', '203.0.113.7, 203.0.113.8', '203.0.113.256'],
    ...['fe80::1%eth0', '203.0.113.7\u00a0', '\u00a0203.0.113.7'],
  ])('400 VALIDATION.INVALID_PARAMETER where CF-Connecting-IP is %s', async (address) => {
    const [route] = portalRoutes
    const response = route && (await request(route, { headers: { 'cf-connecting-ip': address } }))
    expect([response?.status, response?.body.message]).toEqual([400, 'invalid request parameters: cf-connecting-ip'])
  })

  test('401 ACCESS.TOKEN_MISSING without a token, with any body', async () => {
    const bodied = (route: Route): Call => (route.method === 'POST' ? { body: '{"broken' } : {})
    await assertAll(accountRoutes, [401, 'ACCESS.TOKEN_MISSING'], bodied)
    await assertAll(accountRoutes, [401, 'ACCESS.TOKEN_MISSING'], () => ({ headers: { authorization: 'Basic eDp5' } }))
  })

  test('401 ACCESS.TOKEN_INVALID for garbage as token, with any body', async () => {
    await assertAll(accountRoutes, [401, 'ACCESS.TOKEN_INVALID'], ({ method }) => ({
      token: 'garbage',
      ...(method === 'POST' && { body: '[' }),
    }))
  })

  test("401 ACCESS.TOKEN_INVALID with the other portal's token, or another client's hash", async () => {
    await assertAll(accountRoutes, [401, 'ACCESS.TOKEN_INVALID'], ({ chainId }) => ({
      token: chainId === 'system' ? tokens.consumer : tokens.system,
    }))
    await assertAll(accountRoutes, [401, 'ACCESS.TOKEN_INVALID'], (route) => ({
      token: tokenFor(route),
      headers: { 'x-client-hash': 'another-client' },
    }))
  })

  test('401 ACCESS.TOKEN_INVALID for a valid token with a suffix', async () => {
    await assertAll(accountRoutes, [401, 'ACCESS.TOKEN_INVALID'], (route) => ({ token: `${tokenFor(route)} more` }))
  })

  const inWorkspace = accountRoutes.filter(({ operation }) => operation.policy.workspace !== 'none')

  test('400 ACCESS.WORKSPACE_REQUIRED where the policy requires the header', async () => {
    const required = inWorkspace.filter(({ operation }) => operation.policy.workspace === 'required')
    await assertAll(required, [400, 'ACCESS.WORKSPACE_REQUIRED'], (route) => ({ token: tokenFor(route) }))
  })

  test.each([unknownId, 'not-an-id', '../x'])('403 ACCESS.PERMISSION_DENIED in workspace %s', async (workspace) => {
    await assertAll(inWorkspace, [403, 'ACCESS.PERMISSION_DENIED'], (route) => ({ token: tokenFor(route), workspace }))
  })

  test('400 VALIDATION.INVALID_PARAMETER for an undeclared query parameter', async () => {
    const open = portalRoutes.filter(
      ({ operation: { method, policy, id } }) => method === 'GET' && !policy.stepUp && id !== '',
    )
    const others: string[] = []
    for (const route of open) {
      const response = await portico.call('GET', `${route.path}?zzz=1`, {
        ...(route.operation.policy.caller === 'account' && { token: tokenFor(route) }),
        ...(route.operation.policy.workspace !== 'none' && { workspace: '01990000-0000-7000-8000-000000000002' }),
      })
      if (response.status !== 400 || !response.body.message.includes('zzz'))
        others.push(`${route.name}: ${response.status} ${response.text}`)
    }
    expect(others).toEqual([])
  })

  test('400 for an undeclared field, with its name, and for a body where the operation has none', async () => {
    const posts = portalRoutes.filter(
      ({ operation: { method, body, policy, id } }) =>
        method === 'POST' &&
        body !== 'multipart' &&
        !policy.stepUp &&
        id !== 'secureChannel.close' &&
        id !== 'secureChannel.open',
    )
    const others: string[] = []
    for (const route of posts) {
      const response = await request(route, {
        body: { zzz: 1 },
        ...(route.operation.policy.caller === 'account' && { token: tokenFor(route) }),
        ...(route.operation.policy.workspace !== 'none' && { workspace: '01990000-0000-7000-8000-000000000002' }),
      })
      if (response.status !== 400 || response.body.code !== 'VALIDATION.INVALID_PARAMETER')
        others.push(`${route.name}: ${response.status} ${response.text}`)
    }
    expect(others).toEqual([])
  })

  test('the machine chain requires a token but no portal headers', async () => {
    const machine = routes.filter(({ chainId }) => chainId === 'api')
    expect(machine).toHaveLength(9)
    for (const route of machine) {
      const bare = await fetch(portico.url + route.path, { method: route.method })
      expect([bare.status, (await bare.json()).code], route.name).toEqual([401, 'ACCESS.TOKEN_MISSING'])
    }
  })
})
