import { randomUUID } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { domain } from '../../src/api/domain.ts'
import { own } from '../../src/contract/policies.ts'
import { operation } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { requiredHeaders } from '../harness/http.ts'
import { encodeMultipart, pdf } from '../harness/multipart.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { signIn } from '../harness/sign-in.ts'
import { type Service, startService } from './pass-through-world.ts'

const { workspace } = developmentIds
const policy = { ...own, channel: 'none' } as const
const common = { chains: ['consumer'], refuses: [], policy, body: 'none', reply: z.string() } as const
const path = '/web/v1/consumer/slow'

let signals: AbortSignal[] = []
let ended = 0
/** For the handler that ignores its signal. */
let finish = Promise.withResolvers<void>()
beforeEach(() => {
  signals = []
  ended = 0
  finish = Promise.withResolvers()
})

async function handle(signal: AbortSignal, work: () => Promise<unknown>): Promise<string> {
  signals.push(signal)
  try {
    await work()
    return 'done'
  } finally {
    ended += 1
  }
}

const slow = domain({
  name: 'slow',
  summary: 'Slow handlers.',
  operations: {
    readSlow: operation({ ...common, id: 'slow.read', method: 'GET', path: '/slow', summary: 'Read slowly' }),
    readDeaf: operation({
      ...common,
      id: 'slow.deaf',
      method: 'GET',
      path: '/slow/deaf',
      summary: 'Ignore the client',
    }),
    changeSlow: operation({ ...common, id: 'slow.change', method: 'POST', path: '/slow', summary: 'Change slowly' }),
  },
  create: () => ({
    handlers: {
      readSlow: ({ signal }) => handle(signal, () => pause(20_000, undefined, { signal })),
      readDeaf: ({ signal }) => handle(signal, () => finish.promise),
      changeSlow: ({ signal }) => handle(signal, () => pause(500, undefined, { signal })),
    },
  }),
})

let storage: Service
let portico: Portico
let token: string
let download: string
beforeAll(async () => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'id')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret')
  storage = await startService()
  storage.respond((request, response) => request.resume().on('end', () => response.setHeader('etag', '"a"').end()))
  portico = await startPortico({
    domains: [slow],
    adjust: ({ requests, files }) => {
      requests.handlerTimeoutMs = 3_000
      const bucket = { bucket: 'portico', region: 'us-east-1', forcePathStyle: true, prefix: '', timeoutMs: 20_000 }
      files.storage = { kind: 's3', endpoint: storage.url, ...bucket }
    },
  })
  portico.expectFault(({ operation: id }) => String(id) === 'slow.read')
  token = (await signIn(portico)).accessToken
  const form = encodeMultipart([
    { name: 'purpose', content: 'DOCUMENT' },
    { name: 'file', content: pdf(), fileName: 'a.pdf', type: 'application/pdf' },
  ])
  const uploaded = await portico.call('POST', '/web/v1/consumer/files/upload', { token, workspace, ...form })
  download = `/web/v1/consumer/files/${uploaded.body.data.bizId}/download`
})
afterAll(async () => {
  await portico?.stop()
  storage?.close()
  vi.unstubAllEnvs()
})

/** Requests to S3 whose connection was closed before they had a response. */
let abandonedReads = 0
beforeEach(() => {
  abandonedReads = 0
  storage.respond((_request, response) =>
    response.on('close', () => {
      if (!response.writableFinished) abandonedReads += 1
    }),
  )
})

function begin(line: string, id: string = randomUUID()): Socket {
  const { hostname, port } = new URL(portico.urls[0] ?? '')
  const socket = connect({ host: hostname, port: Number(port) }).on('error', () => undefined)
  const own = { authorization: `Bearer ${token}`, 'x-workspace-id': workspace, 'x-request-id': id }
  const all = { ...requiredHeaders(), ...own, host: 'x', 'content-length': '0' }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`${line} HTTP/1.1\r\n${head.join('')}\r\n`)
  return socket
}
function lineOf(id: string) {
  return portico.log.find(({ requestId, ms }) => requestId === id && ms !== undefined)
}
async function countAbandoned(operationId: string): Promise<number> {
  const text = await (await fetch(`${portico.operationsUrl}/metrics`)).text()
  const name = `portico_requests_abandoned_total{operation="${operationId}"} `
  const line = text.split('\n').find((each) => each.startsWith(name))
  return Number(line?.slice(name.length) ?? 0)
}

/** The same as for a request to a service: abandoned-requests.test.ts. */
async function expectAbandoned(operationId: string, id: string, before: number): Promise<void> {
  await expect
    .poll(() => lineOf(id))
    .toMatchObject({
      ...{ msg: 'request abandoned', level: 'info', abandoned: true },
      ...{ code: 'REQUEST.MALFORMED', internal: 'client disconnected' },
    })
  expect(lineOf(id)).not.toHaveProperty('status')
  const explained = await (await fetch(`${portico.operationsUrl}/explain/${id}`)).json()
  expect(explained).toMatchObject([{ status: null, operation: operationId, internal: 'client disconnected' }])
  expect(explained[0].stages.find(({ stage }: { stage: string }) => stage === 'serve').verdict).toBe('abandoned')
  expect(await countAbandoned(operationId)).toBe(before + 1)
}

describe('a client that disconnects while a handler in this process works', () => {
  test.each([
    ['slow.read', path],
    ['slow.deaf', `${path}/deaf`],
  ])('%s: the signal aborts, and the request is logged as abandoned', async (operationId, target) => {
    const id = randomUUID()
    const before = await countAbandoned(operationId)
    const socket = begin(`GET ${target}`, id)
    await expect.poll(() => signals.length).toBe(1)
    socket.destroy()
    await expect.poll(() => signals[0]?.aborted).toBe(true)
    finish.resolve()
    await expectAbandoned(operationId, id, before)
    expect(ended).toBe(1)
  })

  test.each(['GET', 'HEAD'])(
    'files.download: %s ends the request to S3, and is logged as abandoned',
    async (method) => {
      const id = randomUUID()
      const before = await countAbandoned('files.download')
      const socket = begin(`${method} ${download}`, id)
      await expect.poll(() => storage.requests.length).toBe(1)
      socket.destroy()
      await expect.poll(() => abandonedReads).toBe(1)
      await expectAbandoned('files.download', id, before)
    },
  )

  test('files.download 200: eight aborted downloads leave their slots free', async () => {
    const max = portico.settings.requests.maxTransfersPerAccount
    const downloads = Array.from({ length: max }, () => begin(`GET ${download}`))
    await expect.poll(() => storage.requests.length).toBe(max)
    expect((await portico.call('GET', download, { token, workspace })).body.code).toBe('ACCESS.RATE_LIMITED')
    for (const each of downloads) each.destroy()
    await expect.poll(() => abandonedReads).toBe(max)
    storage.respond((_request, response) => void response.end(pdf()))
    expect((await portico.call('GET', download, { token, workspace })).status).toBe(200)
  })

  test('slow.change: a command runs on, and its signal does not abort', async () => {
    const id = randomUUID()
    const socket = begin(`POST ${path}`, id)
    await expect.poll(() => signals.length).toBe(1)
    socket.destroy()
    await expect.poll(() => lineOf(id)).toMatchObject({ msg: 'request abandoned', abandoned: true })
    expect([ended, signals[0]?.aborted]).toEqual([1, false])
  })

  test('slow.read 504 SYSTEM.UPSTREAM_TIMEOUT: the signal aborts at the deadline of the handler', async () => {
    const { status, body } = await portico.call('GET', path, { token })
    expect([status, body.code]).toEqual([504, 'SYSTEM.UPSTREAM_TIMEOUT'])
    await expect.poll(() => [ended, signals[0]?.aborted]).toEqual([1, true])
  })
})
