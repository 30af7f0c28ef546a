import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import express from 'express'
import request from 'supertest'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { bankingCatalogue, catalogue } from '../../../src/contract/index.ts'
import { toRefusal } from '../../../src/gateway/http/error-handler.ts'
import {
  createErrorHandler,
  createRequestHandler,
  createResponseWriter,
  createRouter,
  type FinishedRequest,
  type LimitUncounted,
} from '../../../src/gateway/index.ts'
import type { Call } from '../../../src/gateway/pipeline/call.ts'
import {
  type Code,
  createChainFinder,
  Refusal,
  rateLimited,
  StreamReply,
  toInstant,
} from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { createMetrics } from '../../../src/platform/telemetry/index.ts'
import { captureLog } from '../../harness/log.ts'

class Unavailable extends Error {}

const finished: FinishedRequest[] = []
const measured: object[] = []
let behave: (call: Call) => void
let limitUncounted: LimitUncounted
beforeEach(() => {
  finished.length = 0
  measured.length = 0
  behave = () => undefined
  limitUncounted = () => undefined
})

const clock = { now: () => toInstant(0) }
const words = {
  refusal: (code: Code) => `said of ${code}`,
  findCoded: () => undefined,
  coded: () => expect.fail(),
  text: () => expect.fail(),
}
const responses = createResponseWriter({
  clock,
  words,
  catalogue: bankingCatalogue,
  securityHeaders: {},
  cookies: null,
  includesField: false,
  downloadPace: null,
})
const findChain = createChainFinder([])
const handler = createRequestHandler({
  cors: null,
  router: createRouter(catalogue),
  findChain,
  stages: [(call) => behave(call)],
  limitUncounted: (request) => limitUncounted(request),
  responses,
  clock,
  ids: systemIds,
  metrics: {
    ...createMetrics(),
    startRequest: () => (labels) => {
      measured.push(labels)
      return 1
    },
  },
  log: (each) => void finished.push(each),
  isUnavailable: (error) => error instanceof Unavailable,
})
const faults = captureLog()
const app = express()
  .use(handler.chains)
  .get('/begun', (_request, response) => {
    response.writeHead(200).write('some')
    throw new Error('in the midst')
  })
  .get('/broken', () => {
    throw new Error('a secret')
  })
  .use(handler.notFoundHandler)
  .use(createErrorHandler(responses, faults.logger, findChain))

const file = '/web/v1/consumer/files/01990000-0000-7000-8000-000000000001/download'
function reply(status: number) {
  return (call: Call) => {
    call.reply = new StreamReply(status, { 'content-length': '1' }, Readable.from([Buffer.from('a')]))
  }
}
function refuse(code: Code) {
  return () => {
    throw new Refusal(code)
  }
}

describe('log and metrics record a request by its response', () => {
  test.each<[string, string, string, (call: Call) => void, object]>([
    ['served', '/web/v1/consumer/profile', 'profile.read', () => undefined, { status: 200, code: null }],
    ['a range', file, 'files.download', reply(206), { status: 206, code: null }],
    [
      'refused',
      '/api/v1/consumer/wallets',
      'wallets.list',
      refuse('STATE.CONFLICT'),
      { status: 409, code: 'STATE.CONFLICT' },
    ],
    ['an unknown path', '/web/v1/consumer/none', 'none', () => undefined, { status: 404, code: 'ROUTE.NOT_FOUND' }],
    ['a path without a chain', '/none', 'none', () => undefined, { status: 404, code: 'ROUTE.NOT_FOUND' }],
  ])('%s: %s', async (_name, path, operation, run, expected) => {
    behave = run
    await request(app).get(path)
    await expect.poll(() => finished).toHaveLength(1)
    expect(measured).toEqual([{ operation, ...expected }])
    const [{ status, refusal, call } = expect.fail()] = finished
    expect({ operation: call?.operation.id ?? 'none', status, code: refusal?.code ?? null }).toEqual(measured[0])
  })
})

describe('a request that matches no operation', () => {
  const limit = { name: 'address', limit: 3, windowMs: 60_000, resetMs: 20_000 }

  test.each([
    ['get', '/web/v1/system/none', 404, 'system'],
    ['get', '/web/v1/system/auth/login/initiate', 405, 'system'],
    ['get', '/web/v1/users/self/none', 404, 'self'],
    ['get', '/web/v1/none/%ff', 400, 'shared'],
    ['get', '/none', 404, 'consumer'],
  ] as const)('%s %s %i: counts against the address on the chain %s', async (method, path, status, chainId) => {
    const counted: object[] = []
    limitUncounted = (unmatched) => {
      counted.push({ chainId: unmatched.chainId, peer: unmatched.peer })
      unmatched.limit = { ...limit, remaining: 2 }
    }
    const response = await request(app)[method](path)
    expect([response.status, response.headers.ratelimit]).toEqual([status, '"address";r=2;t=20'])
    expect(counted).toEqual([{ chainId, peer: expect.stringContaining('127.0.0.1') }])
  })

  test('429 ACCESS.RATE_LIMITED once the address limit refuses; 503 where it cannot be reached', async () => {
    limitUncounted = (unmatched) => {
      unmatched.limit = { ...limit, remaining: 0 }
      throw rateLimited(limit.resetMs, 'limit address')
    }
    const limited = await request(app).get('/web/v1/consumer/none')
    expect([limited.status, limited.body.code]).toEqual([429, 'ACCESS.RATE_LIMITED'])
    expect([limited.headers['retry-after'], limited.headers.ratelimit]).toEqual(['20', '"address";r=0;t=20'])
    limitUncounted = () => Promise.reject(new Unavailable())
    expect((await request(app).get('/web/v1/consumer/none')).status).toBe(503)
    await expect.poll(() => measured).toHaveLength(2)
    expect(measured).toMatchObject([{ operation: 'none', status: 429, code: 'ACCESS.RATE_LIMITED' }, { status: 503 }])
  })

  test('a call is left to the pipeline, unless a stage refuses it before the pipeline has counted it', async () => {
    limitUncounted = () => expect.fail()
    expect((await request(app).get('/web/v1/consumer/profile')).status).toBe(200)
    behave = (call) => {
      call.isCounted = true
      throw new Refusal('STATE.CONFLICT')
    }
    expect((await request(app).get('/web/v1/consumer/profile')).status).toBe(409)
    limitUncounted = () => {
      throw rateLimited(limit.resetMs, 'limit address')
    }
    behave = refuse('ACCESS.TOKEN_INVALID')
    expect((await request(app).get('/web/v1/consumer/profile')).status).toBe(429)
  })
})

test.each([
  ['/web/v1/consumer/profile', 'ACCESS.TOKEN_MISSING'],
  ['/web/v1/users/self/security/sessions/config', 'ACCESS.TOKEN_INVALID'],
])('401 of %s has the message of %s', async (path, code) => {
  behave = refuse('ACCESS.TOKEN_MISSING')
  const { status, body } = await request(app).get(path)
  expect([status, body.message]).toEqual([401, `said of ${code}`])
})

test('503 with Retry-After for an unavailable dependency, 500 for an unexpected error', async () => {
  const failing = async (error: Error) => {
    behave = () => {
      throw error
    }
    const { status, headers } = await request(app).get('/web/v1/consumer/profile')
    return [status, headers['retry-after']]
  }
  expect(await failing(new Unavailable())).toEqual([503, '1'])
  expect(await failing(new Error())).toEqual([500, undefined])
})

test.each([
  ['ACCESS.RATE_LIMITED', 429],
  ['SYSTEM.UNAVAILABLE', 503],
] as const)('%s of a handler that names no wait asks for one second', async (code, refused) => {
  behave = refuse(code)
  const { status, headers } = await request(app).get('/web/v1/consumer/profile')
  expect([status, headers['retry-after']]).toEqual([refused, '1'])
})

test('429 by a limit that resets now: every header asks for a wait of one second', async () => {
  const by = { name: 'login', limit: 3, windowMs: 60_000 }
  behave = (call) => {
    call.limit = { ...by, remaining: 0, resetMs: 0 }
    throw rateLimited(call.limit.resetMs, 'too many')
  }
  const { status, headers } = await request(app).get('/web/v1/consumer/profile')
  expect([status, headers['retry-after'], headers.ratelimit]).toEqual([429, '1', '"login";r=0;t=1'])
})

describe('a response before the end of the body', () => {
  const server = createServer(app)
  beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
  afterEach(() => void vi.useRealTimers())
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const connections = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
  /** `expect.poll` would advance the fake time. */
  const allEnded = async () => {
    while ((await connections()) > 0) await turn()
  }
  const portOf = () => {
    const address = server.address()
    return typeof address === 'object' && address ? address.port : 0
  }
  /** The connection keeps its sending side open. */
  const answered = async (run: (call: Call) => void) => {
    behave = run
    const socket = connect({ port: portOf(), host: '127.0.0.1', allowHalfOpen: true })
    socket.write('POST /web/v1/consumer/auth/login/initiate HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab')
    const result = String((await once(socket, 'data'))[0])
    expect(result).toMatch(/\r\nconnection: close\r\n/i)
    await once(socket.resume(), 'end')
    return socket
  }

  test.each<[string, (call: Call) => void]>([
    ['a success', () => undefined],
    ['a refusal', refuse('ACCESS.TOKEN_MISSING')],
  ])('%s is the last one of its connection, which waits for the rest of the body', async (_name, run) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const socket = await answered(run)
    expect(await connections()).toBe(1)
    socket.end('c')
    await allEnded()
  })

  test('closes the connection immediately after a body timeout', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const socket = await answered(refuse('REQUEST.TIMEOUT'))
    await allEnded()
    expect(vi.getTimerCount()).toBe(0)
    socket.destroy()
  })
})

describe('an error outside the pipeline', () => {
  test('gets a 500 envelope without its message, and is logged as an error', async () => {
    const { status, text, body } = await request(app).get('/broken')
    expect([status, body.code, body.success]).toEqual([500, 'SYSTEM.INTERNAL_ERROR', false])
    expect(text).not.toContain('secret')
    expect(faults.faults()).toMatchObject([{ err: { message: 'a secret' } }])
  })

  test('after the head was sent destroys the connection: the response must not look complete', async () => {
    await expect(request(app).get('/begun')).rejects.toThrow()
  })
})

const thrown = toRefusal(new Error('no such column:\ncolour'), () => false)

test.each([
  [
    true,
    new Refusal('STATE.CONFLICT', { internal: 'header x-client-hash is missing' }),
    'header x-client-hash is missing',
  ],
  [undefined, new Refusal('STATE.CONFLICT', { internal: 'header x-client-hash is missing' }), null],
  [false, new Refusal('STATE.CONFLICT', { internal: 'header x-client-hash is missing' }), null],
  [true, thrown, 'no such column:?colour'],
  [undefined, thrown, null],
])('X-Portico-Hint: includesHint %s of %s', (includesHint, refusal, expected) => {
  const writer = createResponseWriter({
    clock,
    words,
    catalogue: bankingCatalogue,
    securityHeaders: {},
    cookies: null,
    includesField: false,
    downloadPace: null,
    ...(includesHint === undefined ? {} : { includesHint }),
  })
  const context = { chainId: 'consumer', locale: 'en', limit: null, idempotencyKey: null } as const
  const { headers, body } = writer.renderRefusal(refusal, context)
  const at = headers.indexOf('x-portico-hint')
  expect(at < 0 ? null : headers[at + 1]).toBe(expected)
  expect(body).not.toContain('colour')
})
