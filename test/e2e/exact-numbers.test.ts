import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dump } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startConfigured } from '../harness/configured.ts'
import { send } from '../harness/http.ts'
import { freePort } from '../harness/postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { openSealed } from '../harness/sealed.ts'
import { createStore, type TestStore } from '../harness/store.ts'

const open = { caller: 'anonymous', workspace: 'none', permission: null, stepUp: false, rate: 'general' }
const policy = { ...open, channel: 'none', idempotent: false, changesRights: false }
const reading = { type: 'object', properties: { value: { type: 'number' } }, required: ['value'] }
const responses = { 200: { description: 'A reading.', content: { 'application/json': { schema: reading } } } }
const marks = { chains: ['consumer'], policy, refuses: [] }
const query = [{ name: 'above', in: 'query', schema: { type: 'number' } }]
const requestBody = { required: true, content: { 'application/json': { schema: reading } } }
const document = {
  openapi: '3.1.0',
  info: { title: 'Meters', version: '1' },
  'x-portico': { domains: { meters: 'Meters.' } },
  paths: {
    '/meters': {
      get: {
        summary: 'Read a meter',
        'x-portico': { id: 'meters.read', name: 'readMeter', ...marks },
        parameters: query,
        responses,
      },
      post: {
        summary: 'Set a meter',
        'x-portico': { id: 'meters.set', name: 'setMeter', ...marks },
        requestBody,
        responses,
      },
    },
    '/meters/sealed': {
      post: {
        summary: 'Set a meter with an encrypted body',
        'x-portico': {
          id: 'meters.setSealed',
          name: 'setSealedMeter',
          ...marks,
          policy: { ...policy, channel: 'optional' },
        },
        requestBody,
        responses,
      },
    },
    '/meters/raw': {
      post: {
        summary: 'Set a meter with bytes',
        'x-portico': { id: 'meters.setRaw', name: 'setRawMeter', ...marks, reply: 'raw' },
        requestBody: { content: { '*/*': {} } },
        responses: { 200: { description: 'Bytes.' } },
      },
    },
  },
}

const invalid = [400, 'VALIDATION.INVALID_PARAMETER']
const changed = ['9007199254740993', '1e400', '0.1000000000000000055511151231257827', '-1e-400']
const exact: [string, number][] = [
  ['1.0', 1],
  ['1E+2', 100],
  ['9007199254740992', 2 ** 53],
  ['0.30000000000000004', 0.1 + 0.2],
  ['-0.0', 0],
]

describe('JSON numbers', () => {
  let store: TestStore
  let gateway: PorticoProcess
  let service: Server
  let folder: string
  let reply = '{"value":1}'
  let seen: { url: string; body: string }[] = []

  beforeAll(async () => {
    service = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => {
        body += String(chunk)
      })
      request.on('end', () => {
        seen.push({ url: request.url ?? '', body })
        response.writeHead(200, { 'content-type': 'application/json' }).end(reply)
      })
    })
    const port = await freePort()
    await new Promise<void>((resolve) => service.listen(port, '127.0.0.1', resolve))
    folder = await mkdtemp(join(tmpdir(), 'portico-numbers-'))
    const file = join(folder, 'meters.yaml')
    await writeFile(file, dump(document))
    store = await createStore()
    const url = `http://127.0.0.1:${port}`
    gateway = await startConfigured(
      { ...store.variables, PORTICO_RATE_LIMIT_SCALE: '1000' },
      {
        operations: [file],
        backends: { meters: { url } },
        passThrough: [{ prefix: '/web/v1/consumer/legacy', url, audience: 'legacy', policy: open, methods: ['POST'] }],
      },
    )
  })
  afterAll(async () => {
    await gateway?.stop()
    service?.close()
    await store?.remove()
    await rm(folder, { recursive: true, force: true })
  })

  const path = '/web/v1/consumer/meters'
  const sealedPath = `${path}/sealed`
  const set = (value: string) => send(gateway.url, 'POST', path, { body: `{"value": ${value}}` })
  const read = (above: string) => send(gateway.url, 'GET', `${path}?above=${encodeURIComponent(above)}`)

  test.each(changed)('meters.set 400 VALIDATION.INVALID_PARAMETER: %s does not reach the service', async (value) => {
    seen = []
    for (const { status, body } of [await set(value), await read(value)]) expect([status, body.code]).toEqual(invalid)
    expect(seen).toEqual([])
  })

  test.each(changed)('meters.read 502 SYSTEM.UPSTREAM_INVALID_RESPONSE: a reply with %s', async (value) => {
    reply = `{"value": ${value}}`
    const { status, body, text } = await read('1')
    expect([status, body.code]).toEqual([502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'])
    expect(text).not.toContain(value)
  })

  test.each(exact)(
    'meters.set 200: %s keeps its value in the request, the query and the reply',
    async (value, number) => {
      reply = `{"value": ${value}}`
      seen = []
      const [written, found] = [await set(value), await read(value)]
      expect([written.body.data, found.body.data], written.text + found.text).toEqual([
        { value: number },
        { value: number },
      ])
      expect(seen.map(({ url, body }) => [url.split('?')[1], body])).toEqual([
        [undefined, JSON.stringify({ value: number })],
        [`above=${number}`, ''],
      ])
    },
  )

  test('passThrough.legacy 200: numbers in body, query and reply stay as they are', async () => {
    reply = '{"value": 1e400, "other": [9007199254740993]}'
    seen = []
    const body = '{"value": [0.1000000000000000055511151231257827, 1E+2]}'
    const target = '/web/v1/consumer/legacy/meters?above=9007199254740993&below=1.50'
    const answer = await send(gateway.url, 'POST', target, { body })
    expect([answer.status, answer.text]).toEqual([200, reply])
    expect(seen).toEqual([{ url: '/meters?above=9007199254740993&below=1.50', body }])
  })

  test.each(changed)('meters.setSealed 400 VALIDATION.INVALID_PARAMETER: an encrypted body with %s', async (value) => {
    seen = []
    const post = await openSealed((method, target, call) => send(gateway.url, method, target, call))
    const { status, body } = await post(sealedPath, { body: `{"value": ${value}}` })
    expect([status, body.code]).toEqual(invalid)
    reply = '{"value": 0.30000000000000004}'
    expect((await post(sealedPath, { body: '{"value": 1E+2}' })).body.data).toEqual({ value: 0.1 + 0.2 })
    expect(seen.map(({ body: sent }) => sent)).toEqual(['{"value":100}'])
  })

  test('meters.setRaw 200: bytes that are passed through stay as they are', async () => {
    reply = '{"value": 1e400, "other": 9007199254740993}'
    seen = []
    const body = '{"value": 0.1000000000000000055511151231257827}'
    const answer = await send(gateway.url, 'POST', `${path}/raw`, { body })
    expect([answer.status, answer.text, seen[0]?.body]).toEqual([200, reply, body])
  })
})
