import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import express from 'express'
import request from 'supertest'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { bankingCatalogue, catalogue } from '../../../src/contract/index.ts'
import {
  createErrorHandler,
  createRequestHandler,
  createResponseWriter,
  createRouter,
  type FinishedRequest,
} from '../../../src/gateway/index.ts'
import type { Call } from '../../../src/gateway/pipeline/call.ts'
import {
  type Code,
  createChainFinder,
  Refusal,
  SocketReply,
  StreamReply,
  toInstant,
} from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { createMetrics } from '../../../src/platform/telemetry/index.ts'
import { captureLog } from '../../harness/log.ts'

const clock = { now: () => toInstant(0) }
const words = {
  refusal: (code: Code) => code,
  findCoded: () => undefined,
  coded: () => expect.fail(),
  text: () => expect.fail(),
}
const writer = createResponseWriter({
  clock,
  words,
  catalogue: bankingCatalogue,
  securityHeaders: {},
  cookies: null,
  includesField: false,
  downloadPace: null,
})

let serve: (call: Call) => void
/** The steps after the one that takes the reply. */
let steps: { later: (call: Call) => void; send: typeof writer.writeStream }
let finished: FinishedRequest[]
let released: number
beforeEach(() => {
  steps = { later: () => undefined, send: writer.writeStream }
  finished = []
  released = 0
})

const findChain = createChainFinder([])
const handler = createRequestHandler({
  cors: null,
  router: createRouter(catalogue),
  findChain,
  stages: [
    (call) => {
      call.onFinished = () => {
        released += 1
      }
      serve(call)
    },
    (call) => steps.later(call),
  ],
  limitUncounted: () => undefined,
  responses: { ...writer, writeStream: (...parameters) => steps.send(...parameters) },
  clock,
  ids: systemIds,
  metrics: createMetrics(),
  log: (each) => void finished.push(each),
  isUnavailable: () => false,
})
const faults = captureLog()
const app = express()
  .use(handler.chains)
  .use(createErrorHandler(writer, faults.logger, findChain))
const file = '/web/v1/consumer/files/01990000-0000-7000-8000-000000000001/download'
const times = 100

function fail(): never {
  throw new Error('injected')
}

test.each([204, 304])('%d of a handler has no Content-Length', async (status) => {
  serve = (call) => {
    call.reply = new StreamReply(status, { 'content-length': '5', etag: '"1"' }, Readable.from([]))
  }
  const response = await request(app).get(file)
  expect([response.status, response.headers.etag]).toEqual([status, '"1"'])
  expect(response.headers).not.toHaveProperty('content-length')
  expect(response.headers).not.toHaveProperty('transfer-encoding')
})

describe('a reply is released after every failure, and the failure is logged', () => {
  test.each<[string, Record<string, string>, () => unknown]>([
    ['a header that Node does not write', { 'x-odd': 'a\u0001' }, () => undefined],
    ['a status line that Node does not write', { 'content-length': '3', 'bad name': 'x' }, () => undefined],
    ['a stage after dispatch', {}, () => Object.assign(steps, { later: fail })],
    ['an asynchronous stage after dispatch', {}, () => Object.assign(steps, { later: async () => fail() })],
    ['the response writer', {}, () => Object.assign(steps, { send: fail })],
  ])('%s', async (_name, headers, inject) => {
    inject()
    const bodies: PassThrough[] = []
    serve = (call) => {
      const body = new PassThrough()
      bodies.push(body)
      call.reply = new StreamReply(200, headers, body)
    }
    for (let index = 0; index < times; index++) expect((await request(app).get(file)).status).toBe(500)
    expect(bodies.filter(({ destroyed }) => destroyed)).toHaveLength(times)
    expect(released).toBe(times)
    expect(finished.map(({ refusal }) => refusal?.code)).toEqual(Array(times).fill('SYSTEM.INTERNAL_ERROR'))
  })

  test('a WebSocket that no relay has taken over', async () => {
    const channels: PassThrough[] = []
    serve = (call) => {
      const channel = new PassThrough()
      channels.push(channel)
      call.reply = new SocketReply(null, null, channel)
    }
    for (let index = 0; index < times; index++) expect((await request(app).get(file)).status).toBe(500)
    expect(channels.filter(({ destroyed }) => destroyed)).toHaveLength(times)
  })

  test('a relay that has not started', async () => {
    const release = vi.fn()
    serve = (call) => {
      call.reply = new SocketReply(null, null, new PassThrough())
      call.relay = { start: () => undefined, close: () => undefined, release }
      fail()
    }
    for (let index = 0; index < times; index++) expect((await request(app).get(file)).status).toBe(500)
    expect([release.mock.calls.length, released]).toEqual([times, times])
  })
})

test('500 for a refusal with a header that Node does not write', async () => {
  serve = () => {
    throw new Refusal('STATE.CONFLICT', { headers: { 'x-odd': 'a\u0001' } })
  }
  const { status, body } = await request(app).get(file)
  expect([status, body.code, released]).toEqual([500, 'SYSTEM.INTERNAL_ERROR', 1])
  expect(finished).toMatchObject([{ status: 500, refusal: { code: 'SYSTEM.INTERNAL_ERROR' } }])
})

test.each<[string, string, () => Call['reply']]>([
  ['files.download', file, () => new StreamReply(200, {}, new PassThrough())],
  ['profile.read', '/web/v1/consumer/profile', () => 'null'],
])('%s: a reply for a client that has disconnected is released, and has no status', async (_name, path, reply) => {
  const server = createServer(app)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const socket = connect(typeof address === 'object' && address ? address.port : 0, '127.0.0.1')
  serve = (call) => {
    call.reply = reply()
  }
  steps.later = async (call) => {
    socket.destroy()
    await new Promise((resolve) => call.client.signal.addEventListener('abort', resolve))
  }
  socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
  await expect.poll(() => finished).toMatchObject([{ status: null, refusal: null }])
  const taken = finished[0]?.call?.reply
  expect([taken instanceof StreamReply ? taken.body.destroyed : true, released]).toEqual([true, 1])
  server.close()
})
