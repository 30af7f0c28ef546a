import { Readable } from 'node:stream'
import express from 'express'
import request from 'supertest'
import { beforeEach, describe, expect, test } from 'vitest'
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
import { type Code, instantOf, Refusal, StreamReply } from '../../src/kernel/index.ts'
import { systemIds } from '../../src/platform/system/index.ts'
import { createMetrics } from '../../src/platform/telemetry/index.ts'
import { captureLog } from '../harness/log.ts'

const finished: Finished[] = []
const measured: object[] = []
let behave: (call: Call) => void
beforeEach(() => {
  finished.length = 0
  measured.length = 0
  behave = () => undefined
})

const clock = { now: () => instantOf(0) }
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
  refusalOf: refusalOf(() => false),
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
