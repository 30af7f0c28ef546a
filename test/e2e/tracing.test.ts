import { randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type EndedSpan, recordingTracer } from '../harness/tracer.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${spanId}-01`
const countries = '/web/v1/consumer/constants/countries'

describe('the span of a request', () => {
  let portico: Portico
  let upstream: Server
  let reply = '[]'
  const seen: IncomingHttpHeaders[] = []
  const { tracer, ended } = recordingTracer()

  beforeAll(async () => {
    trace.setGlobalTracerProvider({ getTracer: () => tracer })
    const port = await freePort()
    upstream = createServer((request, response) => {
      seen.push(request.headers)
      response.writeHead(200, { 'content-type': 'application/json' }).end(reply)
    }).listen(port, '127.0.0.1')
    portico = await startPortico({
      adjust: (settings) => {
        settings.tracing.enabled = true
        settings.portals.SYSTEM.edge = { kind: 'direct', trustedProxies: [] }
        settings.backends.constants = upstreamAt(`http://127.0.0.1:${port}`)
      },
    })
  })
  afterAll(async () => {
    trace.disable()
    upstream?.close()
    await portico?.stop()
  })

  const call = async (
    path: string,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; span: EndedSpan }> => {
    const requestId = randomUUID()
    const { status } = await portico.call('GET', path, { headers: { 'x-request-id': requestId, ...headers } })
    const ofRequest = () => ended.filter(({ attributes }) => attributes['portico.request_id'] === requestId)
    await expect.poll(ofRequest).toHaveLength(1)
    const [span] = ofRequest()
    if (!span) throw new Error('no span')
    return { status, span }
  }

  test("has the operation's name and no secret, and starts a new trace", async () => {
    const { status, span } = await call(countries, { authorization: 'Bearer planted-secret' })
    expect(status).toBe(200)
    expect(span).toMatchObject({ name: 'constants.countries', parent: undefined, status: null })
    expect(span.options).toMatchObject({ kind: SpanKind.SERVER, startTime: expect.any(Number) })
    expect(span.attributes).toEqual({
      'http.request.method': 'GET',
      'http.route': countries,
      'http.response.status_code': 200,
      'portico.operation': 'constants.countries',
      'portico.chain': 'consumer',
      'portico.request_id': expect.any(String),
    })
  })

  test('continues the span of a trusted edge; the upstream gets our span and the tracestate', async () => {
    const { span } = await call(countries, { traceparent, tracestate: 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7' })
    expect(span.parent).toMatchObject({ traceId, spanId, isRemote: true })
    expect(span.context.traceId).toBe(traceId)
    expect(seen.at(-1)).toMatchObject({
      traceparent: `00-${traceId}-${span.context.spanId}-01`,
      tracestate: 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7',
    })
    expect(portico.log.at(-1)).toMatchObject({ traceId })
  })

  test.each([
    ['without a parent', { tracestate: 'congo=1' }],
    ['with an invalid parent', { traceparent: `00-${'0'.repeat(32)}-${spanId}-01`, tracestate: 'congo=1' }],
    [
      'beyond 512 characters',
      { traceparent, tracestate: `congo=${'1'.repeat(200)},a=${'2'.repeat(200)},b=${'3'.repeat(200)}` },
    ],
    ['in an invalid form', { traceparent, tracestate: 'no state at all' }],
  ])('a tracestate %s is not forwarded', async (_name, headers) => {
    await call(countries, headers)
    expect(seen.at(-1)?.traceparent).toMatch(/^00-/)
    expect(seen.at(-1)).not.toHaveProperty('tracestate')
  })

  test('has no parent from a peer that is not a trusted proxy', async () => {
    const { span } = await call('/web/v1/system/profile', { traceparent, tracestate: 'congo=1' })
    expect(span.parent).toBeUndefined()
    expect(span.context.traceId).not.toBe(traceId)
  })

  test('records the code of a refusal, which is not an error', async () => {
    const { status, span } = await call('/web/v1/consumer/profile')
    expect(span.attributes).toMatchObject({
      'http.response.status_code': status,
      'portico.code': 'ACCESS.TOKEN_MISSING',
    })
    expect(span.attributes).not.toHaveProperty('error.type')
    expect(span.status).toBeNull()
  })

  test('of an unknown route has the method and the code, and no parent: it could be forged', async () => {
    const { status, span } = await call('/web/v1/consumer/nothing', { traceparent })
    expect(status).toBe(404)
    expect(span).toMatchObject({ name: 'unmatched', parent: undefined, status: null })
    expect(span.attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 404,
      'portico.request_id': expect.any(String),
      'portico.code': 'ROUTE.NOT_FOUND',
    })
  })

  test('records a server error as an error', async () => {
    portico.expectFault(({ code }) => code === 'SYSTEM.UPSTREAM_INVALID_RESPONSE')
    reply = '{"neither":"this"}'
    const { status, span } = await call(countries)
    reply = '[]'
    expect(status).toBe(502)
    const code = 'SYSTEM.UPSTREAM_INVALID_RESPONSE'
    expect(span.attributes).toMatchObject({ 'portico.code': code, 'error.type': code })
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR })
  })
})
