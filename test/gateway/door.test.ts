import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import express from 'express'
import request from 'supertest'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { catalogue } from '../../src/contract/index.ts'
import type { Call } from '../../src/gateway/call.ts'
import {
  createAnswers,
  createDoor,
  createRouter,
  type Finished,
  faultDoor,
  refusalOf,
} from '../../src/gateway/index.ts'
import { type Code, Refusal, rateLimited, StreamReply, toInstant } from '../../src/kernel/index.ts'
import { systemIds } from '../../src/platform/system/index.ts'
import { createMetrics } from '../../src/platform/telemetry/index.ts'
import { captureLog } from '../harness/log.ts'

class Unavailable extends Error {}

const finished: Finished[] = []
const measured: object[] = []
let behave: (call: Call) => void
beforeEach(() => {
  finished.length = 0
  measured.length = 0
  behave = () => undefined
})

const clock = { now: () => toInstant(0) }
const words = { refusal: (code: Code) => `said of ${code}`, coded: () => expect.fail(), text: () => expect.fail() }
const answers = createAnswers({ clock, words, securityFields: {}, asksForFields: false, stallMs: 0 })
const door = createDoor({
  router: createRouter(catalogue),
  stages: [(call) => behave(call)],
  answers,
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
  refusalOf: refusalOf((error) => error instanceof Unavailable),
})
const faults = captureLog()
const app = express()
  .use(door.chains)
  .get('/begun', (_request, response) => {
    response.writeHead(200).write('some')
    throw new Error('in the midst')
  })
  .get('/broken', () => {
    throw new Error('a secret')
  })
  .use(door.nowhere)
  .use(faultDoor(answers, faults.logger))

const file = '/web/v1/consumer/files/01990000-0000-7000-8000-000000000001/download'
const reply = (status: number) => (call: Call) => {
  call.reply = new StreamReply(status, { 'content-length': '1' }, Readable.from([Buffer.from('a')]))
}
const refuse = (code: Code) => () => {
  throw new Refusal(code)
}

describe('log and metrics are told of a request by what was answered', () => {
  test.each<[string, string, string, (call: Call) => void, object]>([
    ['served', '/web/v1/consumer/profile', 'profile.read', () => undefined, { status: 200, code: null }],
    ['a part', file, 'files.download', reply(206), { status: 206, code: null }],
    [
      'refused',
      '/api/v1/consumer/wallets',
      'wallets.list',
      refuse('STATE.CONFLICT'),
      { status: 409, code: 'STATE.CONFLICT' },
    ],
    ['nowhere', '/web/v1/consumer/none', 'none', () => undefined, { status: 404, code: 'ROUTE.NOT_FOUND' }],
    ['no chain', '/none', 'none', () => undefined, { status: 404, code: 'ROUTE.NOT_FOUND' }],
  ])('%s: %s', async (_name, path, operation, does, told) => {
    behave = does
    await request(app).get(path)
    await expect.poll(() => finished).toHaveLength(1)
    expect(measured).toEqual([{ operation, ...told }])
    const [{ status, refusal, call } = expect.fail()] = finished
    expect({ operation: call?.operation.id ?? 'none', status, code: refusal?.code ?? null }).toEqual(measured[0])
  })
})

test.each([
  ['/web/v1/consumer/profile', 'ACCESS.TOKEN_MISSING'],
  ['/web/v1/users/self/security/sessions/config', 'ACCESS.TOKEN_INVALID'],
])('401 of %s is said by the sentence of %s', async (path, code) => {
  behave = refuse('ACCESS.TOKEN_MISSING')
  const { status, body } = await request(app).get(path)
  expect([status, body.message]).toEqual([401, `said of ${code}`])
})

test('what is not to be had is 503, with the second after which to ask again; what nobody foresaw is 500', async () => {
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

test('429 by a limit that lets in again in this very moment: all that tells of the wait says a second', async () => {
  const by = { name: 'login', limit: 3, windowMs: 60_000 }
  behave = (call) => {
    call.limit = { ...by, remaining: 0, resetMs: 0 }
    throw rateLimited(call.limit.resetMs, 'too many')
  }
  const { status, headers } = await request(app).get('/web/v1/consumer/profile')
  expect([status, headers['retry-after'], headers.ratelimit]).toEqual([429, '1', '"login";r=0;t=1'])
})

describe('an answer over a body that is not there', () => {
  const server = createServer(app)
  beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
  afterEach(() => void vi.useRealTimers())
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const connections = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
  /** Without `expect.poll`, by which time that stands still would go on. */
  const allEnded = async () => {
    while ((await connections()) > 0) await turn()
  }
  const portOf = () => {
    const address = server.address()
    return typeof address === 'object' && address ? address.port : 0
  }
  /** One that has its answer, and keeps its half of the connection open. */
  const answered = async (does: (call: Call) => void) => {
    behave = does
    const socket = connect({ port: portOf(), host: '127.0.0.1', allowHalfOpen: true })
    socket.write('POST /web/v1/consumer/auth/login/initiate HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab')
    const answer = String((await once(socket, 'data'))[0])
    expect(answer).toMatch(/\r\nconnection: close\r\n/i)
    await once(socket.resume(), 'end')
    return socket
  }

  test.each<[string, (call: Call) => void]>([
    ['a success', () => undefined],
    ['a refusal', refuse('ACCESS.TOKEN_MISSING')],
  ])('%s is the last of its connection, which waits for the rest', async (_name, does) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const socket = await answered(does)
    expect(await connections()).toBe(1)
    socket.end('c')
    await allEnded()
  })

  test('ends the connection at once where the body has had its time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const socket = await answered(refuse('REQUEST.TIMEOUT'))
    await allEnded()
    expect(vi.getTimerCount()).toBe(0)
    socket.destroy()
  })
})

describe('a fault outside the stages', () => {
  test('is 500 in an envelope without a word of it, and an error in the log', async () => {
    const { status, text, body } = await request(app).get('/broken')
    expect([status, body.code, body.success]).toEqual([500, 'SYSTEM.INTERNAL_ERROR', false])
    expect(text).not.toContain('secret')
    expect(faults.faults()).toMatchObject([{ err: { message: 'a secret' } }])
  })

  test('in the midst of an answer breaks the connection, so that nobody takes it for whole', async () => {
    await expect(request(app).get('/begun')).rejects.toThrow()
  })
})
