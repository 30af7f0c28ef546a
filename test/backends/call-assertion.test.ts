import { once } from 'node:events'
import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { createAssertionCache, toClaims } from '../../src/backends/call-assertion.ts'
import { callAssertionStage } from '../../src/backends/index.ts'
import { buildRequest } from '../../src/backends/upstream/request.ts'
import { listTimezones } from '../../src/banking/constants/contract.ts'
import { listWallets } from '../../src/banking/wallets/contract.ts'
import { Call, type Stage } from '../../src/gateway/pipeline/call.ts'
import {
  type Caller,
  type Clock,
  type Operation,
  type Portal,
  Refusal,
  type WorkspaceAccess,
} from '../../src/kernel/index.ts'
import { systemIds } from '../../src/platform/runtime/index.ts'
import { refusalOf } from '../banking/world.ts'
import { arrivedCall, headersOf } from '../harness/call.ts'
import { testClock } from '../identity/clock.ts'

function callWith(headers: Record<string, string>): Call {
  const call = arrivedCall(listTimezones, { headers: headersOf(headers), receivedAt: testClock().now() })
  call.portal = 'CONSUMER'
  return call
}

describe('a signed assertion is cached for half its lifetime', () => {
  const signed = () => {
    let count = 0
    const clock = testClock()
    const assert = createAssertionCache({ sign: async () => String(++count) }, 'domains', 60_000, clock)
    return { clock, assert: () => assert(callWith({})) }
  }

  test('to the millisecond', async () => {
    const { clock, assert } = signed()
    expect(await assert()).toBe('1')
    clock.advance(29_999)
    expect(await assert()).toBe('1')
    clock.advance(1)
    expect(await assert()).toBe('2')
  })

  test('and dropped if the clock is set back to before it was signed', async () => {
    const { clock, assert } = signed()
    expect(await assert()).toBe('1')
    clock.advance(-3_600_000)
    expect(await assert()).toBe('2')
    expect(await assert()).toBe('2')
  })

  test('and not when signing failed: the next call tries again', async () => {
    let count = 0
    const sign = async () => (++count === 1 ? Promise.reject(new Refusal('SYSTEM.UNAVAILABLE')) : String(count))
    const assert = createAssertionCache({ sign }, 'domains', 60_000, testClock())
    expect(await refusalOf(Promise.resolve(assert(callWith({}))))).toBe('SYSTEM.UNAVAILABLE')
    expect(await assert(callWith({}))).toBe('2')
    expect(await assert(callWith({}))).toBe('2')
  })
})

describe('a signed assertion is cached per caller and workspace', () => {
  const caller: Caller = {
    accountId: systemIds.next<'account'>(),
    portal: 'CONSUMER',
    sessionId: systemIds.next<'session'>(),
    apiKeyId: null,
    steppedUpAt: null,
    permissions: new Set(),
  }
  const permissions = new Set(['wallet:read', 'transfer:create'] as const)
  const workspace: WorkspaceAccess = { id: systemIds.next<'workspace'>(), isOwner: true, permissions }

  const callBy = (facts: Partial<Caller>, access: Partial<WorkspaceAccess> = {}, portal: Portal = 'CONSUMER'): Call => {
    const call = callWith({})
    call.portal = portal
    call.caller = { ...caller, ...facts }
    call.workspace = { ...workspace, ...access }
    return call
  }

  test.each<[string, Call]>([
    ['account', callBy({ accountId: systemIds.next<'account'>() })],
    ['session', callBy({ sessionId: systemIds.next<'session'>() })],
    ['API key', callBy({ apiKeyId: systemIds.next() })],
    ['newer second factor', callBy({ steppedUpAt: testClock().now() })],
    ['right on the operators’ portal', callBy({ permissions: new Set(['audit:read'] as const) })],
    ['portal', callBy({}, {}, 'SYSTEM')],
    ['workspace', callBy({}, { id: systemIds.next<'workspace'>() })],
    ['role without ownership', callBy({}, { isOwner: false })],
    ['smaller set of permissions', callBy({}, { permissions: new Set(['wallet:read'] as const) })],
  ])('and not shared with another %s', async (_what, other) => {
    const sign = async ({ claims }: { claims: Record<string, unknown> }) => JSON.stringify(claims)
    const assert = createAssertionCache({ sign }, 'domains', 60_000, testClock())
    const first = await assert(callBy({}))
    expect(await assert(callBy({}))).toBe(first)
    expect(await assert(other)).toBe(JSON.stringify(toClaims(other)))
    expect(await assert(other)).not.toBe(first)
  })
})

describe('a domain service', () => {
  const { promise: keys, resolve } = Promise.withResolvers<Awaited<ReturnType<typeof generateKeyPair>>>()
  const later: object[] = []
  const jwkOf = async (publicKey: CryptoKey, kid: string) => ({
    ...(await exportJWK(publicKey)),
    kid,
    alg: 'EdDSA',
    use: 'sig',
  })
  const server = createServer(async (_request, response) => {
    const published = [await jwkOf((await keys).publicKey, 'one'), ...later]
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ keys: published }))
  })
  beforeAll(async () => {
    resolve(await generateKeyPair('EdDSA'))
    await once(server.listen(0, '127.0.0.1'), 'listening')
  })
  afterAll(() => server.close())

  const common = { issuer: 'portico', audience: 'domains', type: 'portico-call+jwt' }
  const serviceAt = (clock: Clock, clockSkewMs = 0): Stage => {
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : 0
    return callAssertionStage({ ...common, jwksUrl: `http://127.0.0.1:${port}/`, clockSkewMs }, clock)
  }
  const signed = async (claims: JWTPayload, by = keys, kid = 'one'): Promise<string> => {
    const issued = Math.floor(testClock().now() / 1_000)
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'EdDSA', typ: common.type, kid })
      .setIssuer(common.issuer)
      .setAudience(common.audience)
      .setIssuedAt(issued)
      .setNotBefore(issued)
      .setExpirationTime(issued + 60)
      .sign((await by).privateKey)
  }

  test('accepts a new key of the gateway one second after the last fetch', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const service = serviceAt(testClock())
    const next = generateKeyPair('EdDSA')
    const facts = async (by: typeof keys, kid: string) =>
      refusalOf(
        Promise.resolve(
          service(callWith({ authorization: `Bearer ${await signed({ portal: 'CONSUMER' }, by, kid)}` })),
        ),
      )
    expect(await facts(keys, 'one')).toBe('none')
    later.push(await jwkOf((await next).publicKey, 'two'))
    vi.advanceTimersByTime(1_000)
    expect(await facts(next, 'two')).toBe('none')
    vi.useRealTimers()
  })

  test('rejects a key that the gateway has revoked, 30 seconds after the last fetch', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const service = serviceAt(testClock())
    const revoked = generateKeyPair('EdDSA')
    later.push(await jwkOf((await revoked).publicKey, 'revoked'))
    const authorization = `Bearer ${await signed({ portal: 'CONSUMER' }, revoked, 'revoked')}`
    const end = () => refusalOf(Promise.resolve(service(callWith({ authorization }))))
    expect(await end()).toBe('none')
    later.pop()
    vi.advanceTimersByTime(29_999)
    expect(await end()).toBe('none')
    vi.advanceTimersByTime(1)
    expect(await end()).toBe('ACCESS.TOKEN_INVALID')
    vi.useRealTimers()
  })

  test.each([
    [-5_000, 5_000, 'none'],
    [-6_000, 5_000, 'ACCESS.TOKEN_INVALID'],
    [-1_000, 0, 'ACCESS.TOKEN_INVALID'],
    [0, 0, 'none'],
    [59_000, 0, 'none'],
    [60_000, 0, 'ACCESS.TOKEN_INVALID'],
    [64_000, 5_000, 'none'],
    [65_000, 5_000, 'ACCESS.TOKEN_INVALID'],
  ])('whose clock is %i ms off the gateway’s, with clockSkewMs %i: %s', async (off, skew, code) => {
    const clock = testClock()
    clock.advance(off)
    const call = callWith({ authorization: `Bearer ${await signed({ portal: 'CONSUMER' })}` })
    expect(await refusalOf(Promise.resolve(serviceAt(clock, skew)(call)))).toBe(code)
  })

  test.each([
    ['limits', 'none'],
    ['limits,guard', 'SYSTEM.INTERNAL_ERROR'],
    ['', 'none'],
  ])('needs the hooks of the gateway `%s` before the command: %s', async (hooks, code) => {
    const headers = { authorization: `Bearer ${await signed({ portal: 'CONSUMER' })}`, 'x-portico-hooks': hooks }
    const operation: Operation = { ...listTimezones, before: ['limits'] }
    const call = arrivedCall(operation, { headers: headersOf(headers), receivedAt: testClock().now() })
    expect(await refusalOf(Promise.resolve(serviceAt(testClock())(call)))).toBe(code)
  })

  test('accepts the Bearer scheme only', async () => {
    const call = callWith({ authorization: `Basic ${await signed({ portal: 'CONSUMER' })}` })
    expect(await refusalOf(Promise.resolve(serviceAt(testClock())(call)))).toBe('ACCESS.TOKEN_MISSING')
  })

  test.each<[string, Partial<Caller>]>([
    ['a person', { sessionId: systemIds.next<'session'>(), steppedUpAt: testClock().now() }],
    ['an API key', { apiKeyId: systemIds.next() }],
  ])('knows the same of %s as the gateway', async (_who, facts) => {
    const call = callWith({})
    call.caller = {
      accountId: systemIds.next<'account'>(),
      portal: 'CONSUMER',
      sessionId: null,
      apiKeyId: null,
      steppedUpAt: null,
      permissions: new Set(['audit:read'] as const),
      ...facts,
    }
    call.workspace = {
      id: systemIds.next<'workspace'>(),
      isOwner: true,
      permissions: new Set(['wallet:read', 'transfer:create'] as const),
    }
    Object.assign(call, { locale: 'ja', country: 'JP', clientIp: '203.0.113.9', userAgent: 'é (x; y)' })
    const { headers } = buildRequest(call, await signed({ ...toClaims(call) }))
    const asserted = new Call({ ...callWith(headers), operation: listWallets })
    await serviceAt(testClock())(asserted)
    for (const fact of ['portal', 'caller', 'workspace', 'locale', 'country', 'clientIp', 'userAgent'] as const)
      expect([fact, asserted[fact]]).toEqual([fact, call[fact]])
  })
})
