import { hash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { gatewayPipeline } from '../../../../src/app.ts'
import { createRole } from '../../../../src/banking/roles/contract.ts'
import { createTransfer, listTransfers } from '../../../../src/banking/transfers/contract.ts'
import { invalidateAccess } from '../../../../src/gateway/pipeline/access-cache.ts'
import type { Call } from '../../../../src/gateway/pipeline/call.ts'
import type { ResolveClient } from '../../../../src/gateway/pipeline/client-address.ts'
import { Headers } from '../../../../src/gateway/pipeline/headers.ts'
import { OpenStreams } from '../../../../src/gateway/pipeline/open-streams.ts'
import { createAllowedOrigins, publicUrlsOf } from '../../../../src/gateway/pipeline/origins.ts'
import type { Credential } from '../../../../src/gateway/pipeline/ports.ts'
import { createSessionCookies } from '../../../../src/gateway/pipeline/session-cookie.ts'
import {
  accessCodeStage,
  authenticateStage,
  clientHashStage,
  edgeStage,
  idempotencyStage,
  offerCheck,
  requiredHeadersStage,
  workspaceStage,
} from '../../../../src/gateway/pipeline/stages/index.ts'
import { generateBackupCodes } from '../../../../src/identity/mfa/contract.ts'
import { type Caller, type ChainId, type Operation, type Portal, Refusal } from '../../../../src/kernel/index.ts'
import { systemDurations, systemIds } from '../../../../src/platform/runtime/index.ts'
import { refusalOf } from '../../../banking/world.ts'
import { arrivedCall } from '../../../harness/call.ts'
import { testSettings } from '../../../harness/settings.ts'

function callOf(
  operation: Operation,
  chainId: ChainId,
  headers: Record<string, string> = {},
  rawHeaders = Object.entries(headers).flat(),
): Call {
  return arrivedCall(operation, { chainId, headers: new Headers({ headers, rawHeaders }) })
}

function caller(portal: Portal): Caller {
  return {
    accountId: systemIds.next<'account'>(),
    portal,
    sessionId: null,
    apiKeyId: null,
    steppedUpAt: null,
    permissions: new Set(),
  }
}

function never(): never {
  throw new Error('no request comes')
}

const browserParts = {
  cookies: createSessionCookies(testSettings({})),
  origins: createAllowedOrigins(testSettings({})),
  baseUrlsOf: publicUrlsOf(testSettings({})),
  readCertificate: () => null,
  assertOffered: offerCheck([]),
}

test('stages run in order: authentication and permission precede the body', () => {
  const pipeline = gatewayPipeline({
    settings: testSettings({}),
    assertOffered: never,
    limits: { spendAll: never, admit: never, addressKey: never, networkKey: never },
    channel: { open: never, sealer: never },
    authentication: { accessToken: never, sessionCookie: never, ticket: never, keyProof: never, apiKey: never },
    cookies: { read: never, format: never },
    origins: { allows: never, assertOwnPage: never },
    stepUps: { spend: never },
    access: { enter: never, stay: never, identify: never, invalidate: never },
    backends: { backendOf: never, trialOf: never },
    trials: { recordPlace: never, countCanary: never },
    recorded: {
      commands: { claim: never, succeed: never, refuse: never },
      isRecorded: never,
      timeoutMsOf: never,
      onReplayed: never,
    },
    streams: new OpenStreams({
      settings: testSettings({}).streams,
      addressKey: never,
      durations: systemDurations,
      metrics: { changeOpen: never, countEnd: never, countRefused: never },
    }),
    durations: systemDurations,
    onSocketClosed: () => expect.fail(),
    onTransferRefused: () => expect.fail(),
    payoutHold: never,
    tracing: null,
  })
  expect(Object.keys(pipeline)).toEqual([
    'edge',
    'portalAccessCode',
    'addressGuard',
    'requiredHeaders',
    'clientHash',
    'authenticate',
    'workspace',
    'permission',
    'limits',
    'keyProof',
    'payoutHold',
    'transferLimit',
    'body',
    'secureChannel',
    'validate',
    'idempotency',
    'stepUp',
    'serve',
  ])
})

describe('on the machine chain', () => {
  test('transfers.create 400 without X-Request-Id: a generated id would not deduplicate a retry', async () => {
    const run = async (headers: Record<string, string>) => idempotencyStage(callOf(createTransfer, 'api', headers))
    expect(await refusalOf(run({}))).toBe('VALIDATION.INVALID_PARAMETER')
    expect(await refusalOf(run({ 'x-request-id': 'one' }))).toBe('none')
  })

  test('transfers.list 403 with an API key of another workspace', async () => {
    const own = { id: systemIds.next<'workspace'>(), isOwner: false, permissions: new Set<never>() }
    const enter = workspaceStage({ enter: async () => own, stay: async () => own, identify: async () => own })
    const run = async (named: string) => {
      const call = callOf(listTransfers, 'api', { 'x-workspace-id': named })
      call.caller = caller('CONSUMER')
      call.workspace = own
      await enter(call)
    }
    expect(await refusalOf(run(systemIds.next()))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(run(own.id.toUpperCase()))).toBe('none')
  })
})

describe('repeated headers, of which readers may use different values', () => {
  const twice = (name: string, first: string, second: string): Call =>
    callOf(listTransfers, 'consumer', { [name]: first }, [name, first, name.toUpperCase(), second])

  test('400 VALIDATION.INVALID_PARAMETER for two client hashes', async () => {
    const run = async () => clientHashStage(twice('x-client-hash', 'one', 'two'))
    expect(await refusalOf(run())).toBe('VALIDATION.INVALID_PARAMETER')
  })

  test('401 ACCESS.TOKEN_INVALID for two tokens', async () => {
    const authentication = {
      accessToken: async () => caller('CONSUMER'),
      sessionCookie: never,
      ticket: never,
      keyProof: never,
      apiKey: () => undefined,
    }
    const stage = authenticateStage({ ...browserParts, authentication, resolveClient: () => undefined })
    const run = async (second: string) => stage(twice('authorization', 'Bearer one', second))
    expect(await refusalOf(run('Bearer two'))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('403 ACCESS.PORTAL_MISMATCH for two access codes', async () => {
    const { portals } = testSettings({})
    portals.CONSUMER.accessCodes = [hash('sha256', 'good')]
    const stage = accessCodeStage(portals, () => undefined, offerCheck([]))
    const run = async (call: Call) => stage(call)
    const name = 'x-portal-access-code'
    expect(await refusalOf(run(callOf(listTransfers, 'consumer', { [name]: 'good' })))).toBe('none')
    expect(await refusalOf(run(twice(name, 'good', 'other')))).toBe('ACCESS.PORTAL_MISMATCH')
  })
})

test('a failed roles.create invalidates cached rights, too', async () => {
  let forgotten = 0
  const cache = { invalidate: async () => void forgotten++ }
  const stage = invalidateAccess(cache, () => Promise.reject(new Refusal('SYSTEM.UNAVAILABLE')))
  expect(await refusalOf((async () => stage(callOf(createRole, 'consumer')))())).toBe('SYSTEM.UNAVAILABLE')
  expect(forgotten).toBe(1)
})

test('roles.create responds after every replica has dropped the old rights', async () => {
  const order: string[] = []
  const invalidate = async () => {
    await setImmediate()
    order.push('forgotten everywhere')
  }
  await invalidateAccess({ invalidate }, async () => undefined)(callOf(createRole, 'consumer'))
  order.push('answered')
  expect(order).toEqual(['forgotten everywhere', 'answered'])
})

test('the body hash ignores the order of fields and includes the path parameters', async () => {
  const hashOf = async (body: object, params: Record<string, string> = {}) => {
    const call = callOf(createTransfer, 'consumer', { 'x-request-id': 'one' })
    Object.assign(call, { params, input: { query: {}, body } })
    await idempotencyStage(call)
    return call.idempotency?.bodyHash
  }
  const one = await hashOf({ a: 1, b: { c: 2, d: 3 } })
  expect(await hashOf({ b: { d: 3, c: 2 }, a: 1 })).toBe(one)
  expect(await hashOf({ a: 1, b: { c: 2, d: 4 } })).not.toBe(one)
  expect(await hashOf({ a: 1, b: { c: 2, d: 3 } }, { bizId: 'other' })).not.toBe(one)
})

describe('the idempotency key', () => {
  const keyOf = async (headers: Record<string, string>, chainId: ChainId = 'consumer', raw?: string[]) => {
    const call = callOf(createTransfer, chainId, headers, raw)
    const refused = await refusalOf((async () => idempotencyStage(call))())
    return refused === 'none' ? call.idempotency?.key : refused
  }
  const refused = 'VALIDATION.INVALID_PARAMETER'

  test.each([
    ['X-Request-Id', { 'x-request-id': 'one' }, 'one'],
    ['a quoted Idempotency-Key', { 'x-request-id': 'one', 'idempotency-key': '"two"' }, 'two'],
    ['an unquoted Idempotency-Key', { 'x-request-id': 'one', 'idempotency-key': 'two' }, 'two'],
    ['Idempotency-Key alone', { 'idempotency-key': '"two"' }, 'two'],
    ['neither', {}, refused],
    ['an empty one', { 'x-request-id': 'one', 'idempotency-key': '' }, refused],
    ['a malformed one', { 'x-request-id': 'one', 'idempotency-key': '"two' }, refused],
    ['a long one', { 'x-request-id': 'one', 'idempotency-key': 'k'.repeat(256) }, refused],
  ])('is %s', async (_, headers, expected) => {
    expect(await keyOf(headers, 'api')).toBe(expected)
  })

  test('transfers.create 400 VALIDATION.INVALID_PARAMETER: a repeated Idempotency-Key', async () => {
    // Node joins the values.
    const headers = { 'x-request-id': 'one', 'idempotency-key': 'two, two' }
    const raw = ['X-Request-Id', 'one', 'Idempotency-Key', 'two', 'Idempotency-Key', 'two']
    expect(await keyOf(headers, 'consumer', raw)).toBe(refused)
  })

  test('an operation that is not idempotent ignores the header', async () => {
    const call = callOf(listTransfers, 'consumer', { 'idempotency-key': '"' })
    await idempotencyStage(call)
    expect([call.idempotency, call.idempotencyKey]).toEqual([null, null])
  })
})

describe('the required headers of a portal', () => {
  const settings = testSettings({})
  const { portals } = settings
  portals.CONSUMER.edge = { kind: 'cloudflare', trustedProxies: [] }
  portals.SYSTEM.edge = { kind: 'direct', trustedProxies: [] }
  const requiredHeaders = requiredHeadersStage(settings, createAllowedOrigins(settings))
  const good = {
    'x-request-id': 'one',
    'x-locale': 'en',
    'x-forwarded-proto': 'https',
    'cf-connecting-ip': '203.0.113.9',
    'cf-ray': 'ray',
    'cf-ipcountry': 'jp',
  }
  const run = async (headers: Record<string, string>, chainId: ChainId = 'consumer', edgeTrusted = true) => {
    const call = callOf(listTransfers, chainId, { ...good, ...headers })
    Object.assign(call, { portal: chainId === 'system' ? 'SYSTEM' : 'CONSUMER', edgeTrusted })
    const refused = await refusalOf((async () => requiredHeaders(call))())
    return refused === 'none' ? call.country : refused
  }
  const invalid = 'VALIDATION.INVALID_PARAMETER'

  test.each([
    ['x-request-id', 'a'.repeat(128), 'a'.repeat(129)],
    ['x-request-id', '!~', 'a b'],
    ['x-locale', 'a'.repeat(64), 'a'.repeat(65)],
    ['x-forwarded-proto', 'https', 'http'],
    ['cf-ray', 'a'.repeat(64), 'a'.repeat(65)],
    ['cf-ipcountry', 't1', 'jpn'],
    ['cf-connecting-ip', '2001:db8::1', `2001:db8::1%${'a'.repeat(64)}`],
    ['cf-connecting-ip', 'fe80::1', 'fe80::1%eth0'],
    ['cf-connecting-ip', '203.0.113.7', '203.0.113.7\u00a0'],
    ['cf-connecting-ip', '203.0.113.7', '\u00a0203.0.113.7'],
    ['cf-connecting-ip', '::ffff:1.2.3.4', '::ffff:01.2.3.4'],
  ])('%s has a maximum length: %s, %s', async (name, maximum, more) => {
    expect(await run({ [name]: maximum })).not.toBe(invalid)
    expect(await run({ [name]: more })).toBe(invalid)
  })

  test('the country is upper case', async () => expect(await run({})).toBe('JP'))

  test('edge headers count only from a trusted peer; without Cloudflare only the scheme is required', async () => {
    expect(await run({}, 'consumer', false)).toBe(invalid)
    expect(await run({}, 'system', false)).toBe('XX')
    expect(await run({ 'x-forwarded-proto': 'http' }, 'system', false)).toBe(invalid)
  })

  test('the refusal names the first missing header', async () => {
    const named = async (portal: Portal) => {
      const call = callOf(listTransfers, portal === 'SYSTEM' ? 'system' : 'consumer', good)
      Object.assign(call, { portal, edgeTrusted: false })
      return (async () => requiredHeaders(call))().catch((error: unknown) => error)
    }
    expect(await named('CONSUMER')).toMatchObject({ code: invalid, detail: { field: 'x-forwarded-proto' } })
    expect(await named('SYSTEM')).toBeUndefined()
  })

  test('a machine needs no request id, but an invalid one is refused', async () => {
    const sent = async (headers: Record<string, string>) => requiredHeaders(callOf(listTransfers, 'api', headers))
    expect(await refusalOf(sent({}))).toBe('none')
    expect(await refusalOf(sent({ 'x-request-id': 'a'.repeat(128) }))).toBe('none')
    expect(await refusalOf(sent({ 'x-request-id': 'a b' }))).toBe(invalid)
  })

  test('a client hash has at most 256 visible characters and is optional for machines', async () => {
    const hashOf = async (chainId: ChainId, headers: Record<string, string>) => {
      const call = callOf(listTransfers, chainId, headers)
      const refused = await refusalOf((async () => clientHashStage(call))())
      return refused === 'none' ? call.clientHash : refused
    }
    for (const chainId of ['consumer', 'api'] as const) {
      expect(await hashOf(chainId, { 'x-client-hash': 'a'.repeat(256) })).toBe('a'.repeat(256))
      expect(await hashOf(chainId, { 'x-client-hash': 'a'.repeat(257) })).toBe(invalid)
      expect(await hashOf(chainId, { 'x-client-hash': 'a b' })).toBe(invalid)
    }
    expect(await hashOf('consumer', {})).toBe(invalid)
    expect(await hashOf('api', {})).toBe('')
  })
})

test('the user agent is truncated to 512 characters', async () => {
  const call = callOf(listTransfers, 'consumer', { 'user-agent': `${'a'.repeat(512)}b` })
  await edgeStage(() => undefined)(call)
  expect(call.userAgent).toBe('a'.repeat(512))
})

describe('authentication', () => {
  const seen: Credential[] = []
  const authentication = {
    accessToken: (credential: Credential) => {
      seen.push(credential)
      return caller('SYSTEM')
    },
    sessionCookie: never,
    ticket: never,
    keyProof: never,
    apiKey: () => undefined,
  }
  const resolveClient: ResolveClient = (call, portal) => {
    call.clientIp = `of ${portal}`
  }
  const stage = authenticateStage({ ...browserParts, authentication, resolveClient })
  const run = async (authorization: string, operation: Operation = listTransfers, chainId: ChainId = 'system') => {
    const call = callOf(operation, chainId, { authorization })
    Object.assign(call, { portal: chainId === 'self' ? null : 'SYSTEM', clientHash: 'hash', clientIp: '203.0.113.9' })
    const refused = await refusalOf((async () => stage(call))())
    return { refused, call, credential: seen.pop() }
  }

  test('the scheme is case-insensitive, and everything after it is the token', async () => {
    for (const scheme of ['Bearer', 'bearer', 'BEARER'])
      expect((await run(`${scheme}  a b`)).credential).toMatchObject({
        token: 'a b',
        portal: 'SYSTEM',
        clientHash: 'hash',
        clientIp: '203.0.113.9',
        bypassCache: false,
      })
    for (const none of ['', 'Bearer', 'Bearer ', 'Basic a', 'Bearera', 'Basic Bearer a'])
      expect((await run(none)).refused).toBe('ACCESS.TOKEN_MISSING')
  })

  test('an API key is accepted on the machine chain only', async () => {
    let lookups = 0
    const apiKey = (): undefined => void lookups++
    const byKey = authenticateStage({
      ...browserParts,
      authentication: { ...authentication, apiKey },
      resolveClient: () => undefined,
    })
    for (const [chainId, times] of [
      ['consumer', 0],
      ['self', 0],
      ['api', 1],
    ] as const) {
      await byKey(callOf(listTransfers, chainId, { authorization: 'Bearer a' }))
      expect([chainId, lookups]).toEqual([chainId, times])
    }
  })

  test('an operation with step-up bypasses the session cache', async () => {
    expect((await run('Bearer a', generateBackupCodes)).credential?.bypassCache).toBe(true)
  })

  test('a reauthorized call checks its token at the time of receipt', async () => {
    const { call, credential } = await run('Bearer a')
    expect(credential?.receivedAt).toBeUndefined()
    await stage(call)
    expect(seen.pop()?.receivedAt).toBe(call.receivedAt)
  })

  test('on the self chain the token determines the portal and its edge the client address', async () => {
    const { call, credential } = await run('Bearer a', listTransfers, 'self')
    expect([call.portal, credential?.portal, credential?.resolveClientIp?.('SYSTEM')]).toEqual([
      'SYSTEM',
      null,
      'of SYSTEM',
    ])
    expect(call.clientIp).toBe('of SYSTEM')
  })
})
