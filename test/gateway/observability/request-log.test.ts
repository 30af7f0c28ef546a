import express, { type ErrorRequestHandler } from 'express'
import { pino } from 'pino'
import request from 'supertest'
import { expect, test } from 'vitest'
import { createTransfer } from '../../../src/banking/transfers/contract.ts'
import type { LogField } from '../../../src/config/index.ts'
import { bankingCatalogue, statusOf } from '../../../src/contract/index.ts'
import { createRequestLog, type FinishedRequest } from '../../../src/gateway/index.ts'
import { createPageLog } from '../../../src/gateway/observability/request-log.ts'
import { type Code, Refusal, type RefusalDetail, toInstant } from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { arrivedCall, headersOf } from '../../harness/call.ts'
import { captureLog } from '../../harness/log.ts'

const caller = {
  accountId: systemIds.next<'account'>(),
  portal: 'CONSUMER' as const,
  sessionId: systemIds.next<'session'>(),
  apiKeyId: systemIds.next(),
  steppedUpAt: null,
  permissions: new Set<never>(),
}
const workspace = { id: systemIds.next<'workspace'>(), isOwner: false, permissions: new Set<never>() }

const self = { version: '1.2.3', replica: 'gateway-1' }

function lineOf(finished: Partial<FinishedRequest>, fields: readonly LogField[] = []) {
  const { logger, lines } = captureLog()
  createRequestLog(logger, bankingCatalogue, { ...self, fields })({
    requestId: 'one',
    call: null,
    refusal: null,
    status: 200,
    ms: 1.234,
    ...finished,
  })
  return { ...lines[0], time: undefined }
}

test('the request line has caller, operation and client, and nothing else of the request', () => {
  const headers = headersOf({ authorization: 'Bearer token', 'x-client-hash': 'hash' })
  const call = arrivedCall(createTransfer, { headers, query: 'a=b' })
  const input = { query: { a: 'b' }, body: { amount: '1.00' } }
  Object.assign(call, { caller, workspace, input, clientIp: '203.0.113.9', country: 'JP', userAgent: 'a browser' })
  expect(lineOf({ call })).toEqual({
    level: 'info',
    msg: 'request',
    requestId: 'one',
    status: 200,
    ms: 1.23,
    operation: 'transfers.create',
    chain: 'consumer',
    method: 'POST',
    clientIp: '203.0.113.9',
    country: 'JP',
    account: caller.accountId,
    session: caller.sessionId,
    apiKey: caller.apiKeyId,
    workspace: workspace.id,
    userAgent: 'a browser',
    ...self,
  })
})

test('the line has the time of the attempts at a service, and bytes', () => {
  const call = arrivedCall(createTransfer)
  call.upstream = { url: 'http://10.0.0.5:8081', attempts: 2, ms: 12.3456, status: 200 }
  const bytes = { bytesReceived: 512, bytesSent: 1_024 }
  expect(lineOf({ call, bytes })).toMatchObject({ upstreamMs: 12.35, ...bytes })
})

test('log.fields adds fields, cut at 200 characters; of the referer, only origin and path', () => {
  const headers = headersOf({
    referer: 'https://user:hidden@portal.example/wallets?token=hidden#hidden',
    origin: 'https://portal.example',
    'accept-language': 'x'.repeat(300),
  })
  const call = arrivedCall(createTransfer, { headers })
  call.upstream = { url: 'http://10.0.0.5:8081', attempts: 2, ms: 1, status: 503 }
  const fields: LogField[] = ['referer', 'origin', 'acceptLanguage', 'cfRay', 'peer', 'locale', 'spanId']
  const line = lineOf({ call }, [...fields, 'upstream', 'upstreamAttempts', 'upstreamStatus'])
  expect(line).toMatchObject({
    referer: 'https://portal.example/wallets',
    origin: 'https://portal.example',
    acceptLanguage: 'x'.repeat(200),
    peer: '127.0.0.1',
    locale: 'en',
    upstream: 'http://10.0.0.5:8081',
    upstreamAttempts: 2,
    upstreamStatus: 503,
  })
  expect(line).not.toHaveProperty('cfRay')
  expect(line).not.toHaveProperty('spanId')
  expect(JSON.stringify(line)).not.toContain('hidden')
})

test('the line of a refusal has the code of an upstream that was not relayed', () => {
  const detail = { internal: 'status 422, a refusal with a reserved or unknown code', upstreamCode: 'NO.SUCH_CODE' }
  const refusal = new Refusal('SYSTEM.UPSTREAM_INVALID_RESPONSE', detail)
  expect(lineOf({ refusal, status: 502 })).toMatchObject({
    level: 'error',
    code: 'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    ...detail,
  })
})

function refusedBy(code: Code, detail: RefusalDetail) {
  const refusal = new Refusal(code, detail)
  return lineOf({ refusal, status: statusOf(refusal.code) })
}

test('a refusal is logged with its reason; only a server error is logged as an error with its cause', () => {
  const why = { code: 'STATE.CONFLICT', internal: 'it has ended' }
  expect(refusedBy('STATE.CONFLICT', { internal: 'it has ended' })).toMatchObject({
    level: 'info',
    status: 409,
    ...why,
  })
  const cause = new Error('the disk')
  expect(refusedBy('SYSTEM.INTERNAL_ERROR', { cause })).toMatchObject({ level: 'error', err: { message: 'the disk' } })
})

test.each<[Code, RefusalDetail, string]>([
  [
    'SYSTEM.UNAVAILABLE',
    { cause: new Error('no connection', { cause: new Error('refused') }) },
    'no connection: refused',
  ],
  ['SYSTEM.UNAVAILABLE', { internal: 'the circuit of the upstream is open' }, 'the circuit of the upstream is open'],
  ['SYSTEM.UPSTREAM_TIMEOUT', { internal: 'total deadline' }, 'total deadline'],
  [
    'SYSTEM.UPSTREAM_INVALID_RESPONSE',
    { cause: new TypeError('fetch failed', { cause: new Error('TLS') }) },
    'fetch failed: TLS',
  ],
])('a known condition is logged without a stack: %s with %j', (code, detail, reason) => {
  const line = refusedBy(code, detail)
  expect(line).toMatchObject({ level: 'error', code, reason })
  expect(line).not.toHaveProperty('err')
  expect(JSON.stringify(line).length).toBeLessThan(500)
})

test('a fault behind another code keeps its stack', () => {
  const cause = new TypeError('undefined is not a function')
  expect(refusedBy('SYSTEM.UPSTREAM_INVALID_RESPONSE', { cause })).toMatchObject({ err: { stack: expect.any(String) } })
})

test.each([
  ['SYSTEM.NOT_IMPLEMENTED', {}],
  ['SYSTEM.INTERNAL_ERROR', { documented: true }],
] as const)('%s caused by the client is not logged as an error: %j', (code, detail) => {
  expect(refusedBy(code, detail)).toMatchObject({ level: 'info', code })
})

const lines: string[] = []
const fault: ErrorRequestHandler = (_error, _request, response, _next) => void response.status(500).end()
const app = express()
  .use(createPageLog(pino({}, { write: (line: string) => void lines.push(line) }), self))
  .get('/docs', (_request, response) => void response.send('a page'))
  .get('/broken', () => {
    throw new Error('no page')
  })
  .use(fault)

const planted = {
  authorization: 'Bearer planted-token',
  cookie: 'planted-cookie',
  'x-portal-access-code': 'planted-access-code',
  'x-client-hash': 'planted-client-hash',
  'x-request-id': 'planted-request-id',
}

test.each([
  ['/docs', 200],
  ['/broken', 500],
])('the line of a page (%s %i) has its path and nothing else of the request', async (path, status) => {
  lines.length = 0
  expect((await request(app).get(`${path}?token=planted-query`).set(planted)).status).toBe(status)
  await expect.poll(() => lines.length).toBe(1)
  const line = lines.join()
  expect(JSON.parse(line)).toMatchObject({ status, page: path })
  expect(line).not.toContain('planted')
  expect(line).not.toContain('127.0.0.1')
  expect(JSON.parse(line).err?.message).toBe(status === 500 ? 'failed with status code 500' : undefined)
})

test('the line of an unknown route has the method, the client address and the user agent', () => {
  const unmatched = { method: 'GET', clientIp: '203.0.113.9', userAgent: 'a scanner', receivedAt: toInstant(0) }
  const { receivedAt: _at, ...logged } = unmatched
  expect(lineOf({ unmatched, refusal: new Refusal('ROUTE.NOT_FOUND'), status: 404 })).toMatchObject(logged)
})
