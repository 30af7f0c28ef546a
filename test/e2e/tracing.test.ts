import { randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { context, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { prometheusIsInstalled, startPrometheus } from '../harness/prometheus.ts'
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
  let upstreamUrl = ''
  const { tracer, ended } = recordingTracer()
  const spansBelow = ({ context: { spanId } }: EndedSpan) => ended.filter(({ parent }) => parent?.spanId === spanId)

  beforeAll(async () => {
    trace.setGlobalTracerProvider({ getTracer: () => tracer })
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
    const port = await freePort()
    upstreamUrl = `http://127.0.0.1:${port}`
    upstream = createServer((request, response) => {
      seen.push(request.headers)
      response.writeHead(200, { 'content-type': 'application/json' }).end(reply)
    }).listen(port, '127.0.0.1')
    portico = await startPortico({
      adjust: (settings) => {
        settings.tracing.enabled = true
        settings.portals.SYSTEM.edge = { kind: 'direct', trustedProxies: [] }
        settings.backends.constants = upstreamAt(upstreamUrl)
      },
    })
  })
  afterAll(async () => {
    trace.disable()
    context.disable()
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

  test('continues the span of a trusted edge; the upstream gets the span of the attempt and the tracestate', async () => {
    const { span } = await call(countries, { traceparent, tracestate: 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7' })
    expect(span.parent).toMatchObject({ traceId, spanId, isRemote: true })
    expect(span.context.traceId).toBe(traceId)
    const [attempt] = spansBelow(span)
    expect(seen.at(-1)).toMatchObject({
      traceparent: `00-${traceId}-${attempt?.context.spanId}-01`,
      tracestate: 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7',
    })
    expect(portico.log.at(-1)).toMatchObject({ traceId })
  })

  test('has a client span for each attempt at a service, without ids and queries', async () => {
    const { span } = await call(countries)
    expect(spansBelow(span)).toMatchObject([
      { name: `GET ${countries}`, options: { kind: SpanKind.CLIENT }, status: null },
    ])
    const { origin, port } = new URL(upstreamUrl)
    expect(spansBelow(span)[0]?.attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': Number(port),
      'url.template': countries,
      'url.full': origin + countries,
    })
  })

  test('has the spans of its statements in the embedded store, and none of a value', async () => {
    const email = 'nobody@demo.test'
    const requestId = randomUUID()
    const body = { email, password: 'not-the-password' }
    await portico.call('POST', '/web/v1/consumer/auth/login/initiate', { headers: { 'x-request-id': requestId }, body })
    const ofRequest = () => ended.find(({ attributes }) => attributes['portico.request_id'] === requestId)
    await expect.poll(ofRequest).toBeDefined()
    const statements = ended.filter(({ parent }) => parent?.spanId === ofRequest()?.context.spanId)
    expect(statements.map(({ name }) => name)).toContain('SELECT accounts')
    expect(new Set(statements.map(({ attributes }) => attributes['db.system.name']))).toEqual(new Set(['postgresql']))
    expect(JSON.stringify(statements)).not.toContain(email)
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

  const requirement = needs(prometheusIsInstalled(), 'Prometheus is not installed')
  test('links the metrics to its trace: Prometheus reads OpenMetrics with exemplars', requirement, async () => {
    const { span } = await call(countries)
    const target = JSON.stringify(new URL(portico.operationsUrl).host)
    const job = `{ job_name: portico, scrape_interval: 2s, scrape_timeout: 2s, static_configs: [{ targets: [${target}] }] }`
    const prometheus = await startPrometheus(`scrape_configs: [${job}]\n`)
    try {
      await expect.poll(() => prometheus.query('up == 1').catch(() => [])).toHaveLength(1)
      const text = await (await fetch(`${portico.operationsUrl}/metrics`)).text()
      const samples = text.split('\n').flatMap((line) => /^[a-z][^{ ]*/.exec(line) ?? [])
      const missing = async () => {
        const known = new Set((await prometheus.series('{job="portico"}')).map((labels) => labels.__name__))
        return [...new Set(samples)].filter((name) => !known.has(name))
      }
      expect(samples.length).toBeGreaterThan(100)
      await expect.poll(missing).toEqual([])
      const found = () => prometheus.exemplars('portico_request_duration_seconds_bucket')
      await expect.poll(found).toContainEqual({ trace_id: span.context.traceId })
    } finally {
      await prometheus.stop()
    }
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
