import request from 'supertest'
import { afterEach, expect, test, vi } from 'vitest'
import { buildSecurityHeaders, createOperationsApp, gatherStatus } from '../../../src/gateway/index.ts'
import { toInstant } from '../../../src/kernel/index.ts'
import { systemClock } from '../../../src/platform/runtime/index.ts'
import { createMetrics } from '../../../src/platform/telemetry/index.ts'
import { captureLog } from '../../harness/log.ts'

const log = captureLog()
const parts: Parameters<typeof createOperationsApp>[0] = {
  probes: [
    { name: 'store', check: async () => undefined },
    { name: 'cache', check: () => Promise.reject(new Error('planted: no answer at 10.0.0.7')) },
  ],
  isDraining: () => false,
  // Each app registers its own metrics.
  get metrics() {
    return createMetrics()
  },
  jwks: () => Promise.reject(new Error('planted: no keys')),
  explain: async () => ({ entries: [], missing: [] }),
  status: async () => ({}),
  outbox: null,
  index: {
    version: '1.2.3',
    replica: 'gateway-1',
    role: 'gateway',
    startedAt: toInstant(0),
    links: [{ href: 'https://portal.example/docs', text: 'API reference' }],
    lastRequests: () => [],
  },
  securityHeaders: buildSecurityHeaders(),
  isWorker: false,
  allowedHosts: ['localhost', 'operations.internal'],
  logger: log.logger,
}
const app = createOperationsApp(parts)
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

test.each([
  ['/', 200],
  ['/health/live', 200],
  ['/health/ready', 503],
  ['/metrics', 200],
  ['/explain/unknown', 404],
  ['/explain/%ff', 400],
  ['/.well-known/jwks.json', 500],
  ['/mail', 404],
])('%s %i is not cached, has a content type, and reveals neither the server nor an error', async (path, status) => {
  const response = await request(app).get(path)
  expect(response.status).toBe(status)
  expect(response.headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-type': expect.stringMatching(/; charset=utf-8$/),
  })
  expect(response.headers).not.toHaveProperty('x-powered-by')
  // Readiness shows the reason of a failed check, but no stack.
  expect(response.text).not.toMatch(
    path === '/health/ready' || path === '/' ? /at .*\.ts:|node_modules/ : /planted|at .*\.ts:|node_modules/,
  )
})

test('its pages load nothing and cannot be framed', async () => {
  const { headers } = await request(app).get('/health/live')
  expect(headers['content-security-policy']).toBe("default-src 'none';frame-ancestors 'none'")
})

test.each(['/Metrics', '/metrics/', '/health/READY', '/health/ready/'])(
  '404 for %s: only one spelling of a path matches',
  async (path) => {
    expect((await request(app).get(path)).status).toBe(404)
  },
)

test.each([
  ['localhost', 200],
  ['LOCALHOST:9090', 200],
  ['operations.internal', 200],
  ['operations.internal.:9090', 200],
  ['127.0.0.1:9090', 200],
  ['10.1.2.3', 200],
  ['[::1]:9090', 200],
  ['attacker.example', 421],
  ['operations.internal.attacker.example', 421],
  ['127.0.0.1.attacker.example', 421],
  ['localhost@attacker.example', 421],
  ['[::1', 421],
  ['', 421],
])('Host: %s %i: a page whose name was rebound to this address cannot read metrics or mails', async (host, status) => {
  const response = await request(app).get('/metrics').set('host', host)
  expect(response.status).toBe(status)
  if (status === 421) expect(response.body).toEqual({ status: 'failed' })
})

test('readiness shows the reason of each failed check, without credentials and only for an allowed Host', async () => {
  const fail = (message: string) => () => Promise.reject(new Error(message))
  const probes = [
    ...parts.probes,
    { name: 'files', isOptional: true, check: fail('cannot open https://user:secret@s3/') },
  ]
  const ready = request(createOperationsApp({ ...parts, probes })).get('/health/ready')
  expect((await ready).body).toEqual({
    status: 'unready',
    checks: { store: 'ok', cache: 'failed', files: 'degraded' },
    reasons: { cache: 'planted: no answer at 10.0.0.7', files: 'cannot open https://s3/' },
  })
  const other = await request(createOperationsApp({ ...parts, probes }))
    .get('/health/ready')
    .set('host', 'a.example')
  expect([other.status, Object.keys(other.body)]).toEqual([503, ['status', 'checks']])
})

test('a failed check of an optional dependency leaves the replica ready', async () => {
  const probes = [{ name: 'files', isOptional: true, check: () => Promise.reject(new Error('no bucket')) }]
  const { status, body } = await request(createOperationsApp({ ...parts, probes })).get('/health/ready')
  expect([status, body]).toEqual([
    200,
    { status: 'ready', checks: { files: 'degraded' }, reasons: { files: 'no bucket' } },
  ])
})

test('a draining process is not ready, even if all probes succeed', async () => {
  const probes = parts.probes.slice(0, 1)
  const readiness = (isDraining: boolean) =>
    request(createOperationsApp({ ...parts, probes, isDraining: () => isDraining })).get('/health/ready')
  expect([(await readiness(false)).status, (await readiness(false)).body.status]).toEqual([200, 'ready'])
  expect([(await readiness(true)).status, (await readiness(true)).body.status]).toEqual([503, 'draining'])
})

test('400 for an undecodable path without a log line, 500 with one for a failing page', async () => {
  const before = log.faults().length
  await request(app).get('/explain/%ff')
  expect(log.faults()).toHaveLength(before)
  await request(app).get('/.well-known/jwks.json')
  expect(log.faults().slice(before)).toMatchObject([{ err: { message: 'planted: no keys' } }])
})

test('metrics have their content type, and the mail page has its own content policy', async () => {
  const { headers } = await request(app).get('/metrics')
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  const outbox = { policy: "default-src 'self'", json: async () => [], html: async () => 'mails' }
  const page = await request(createOperationsApp({ ...parts, outbox })).get('/mail')
  expect([page.headers['content-security-policy'], page.text]).toEqual(["default-src 'self'", 'mails'])
})

test('readiness waits two seconds for a probe and leaves no timer', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  // Other files of this worker can leave timers, so only those of probes count.
  const started = vi.spyOn(globalThis, 'setTimeout')
  const cleared = vi.spyOn(globalThis, 'clearTimeout')
  const pending = () => {
    const timers = started.mock.results.filter((_, index) => started.mock.calls[index]?.[1] === 2_000)
    return timers.filter(({ value }) => !cleared.mock.calls.some(([timer]) => timer === value))
  }
  const probing = Promise.withResolvers<void>()
  const check = () => {
    probing.resolve()
    return new Promise(() => undefined)
  }
  const probes = [...parts.probes, { name: 'silent', check }]
  const waiting = request(createOperationsApp({ ...parts, probes }))
    .get('/health/ready')
    .then()
  await probing.promise
  await new Promise(setImmediate)
  expect(pending()).toHaveLength(1)
  vi.advanceTimersByTime(2_000)
  const { status, body } = await waiting
  expect([status, body.checks]).toEqual([503, { store: 'ok', cache: 'failed', silent: 'failed' }])
})

test('readiness shows a store that is read-only, and why: reads still work', async () => {
  const probes = [{ name: 'store', check: async () => undefined, readOnlyReason: () => 'the disk is full' }]
  const { status, body } = await request(createOperationsApp({ ...parts, probes })).get('/health/ready')
  expect([status, body]).toEqual([
    200,
    { status: 'ready', checks: { store: 'read-only' }, reasons: { store: 'the disk is full' } },
  ])
})

function probe(name: string, check = vi.fn(async () => undefined)) {
  return { name, check }
}

async function readyMetrics(operations: typeof app): Promise<string[]> {
  const { text } = await request(operations).get('/metrics')
  return text.match(/^portico_ready\{.*/gm) ?? []
}

test('GET /metrics 200: portico_ready has the state of each check of /health/ready', async () => {
  const readOnly = { ...probe('store'), readOnlyReason: () => 'a standby' }
  const failing = probe(
    'cache',
    vi.fn(() => Promise.reject(new Error('planted'))),
  )
  expect(await readyMetrics(createOperationsApp({ ...parts, probes: [readOnly, failing] }))).toEqual([
    'portico_ready{check="store"} 0',
    'portico_ready{check="cache"} 0',
  ])
})

test('GET /metrics 200: reuses the result of a recent health check', async () => {
  const cache = probe('cache')
  const operations = createOperationsApp({ ...parts, probes: [cache] })
  await request(operations).get('/health/ready')
  expect(await readyMetrics(operations)).toEqual(['portico_ready{check="cache"} 1'])
  expect(cache.check).toHaveBeenCalledTimes(1)
  await request(operations).get('/health/ready')
  expect(cache.check).toHaveBeenCalledTimes(2)
})

test('GET /metrics 200: a check without a response fails after two seconds', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const probing = Promise.withResolvers<void>()
  const silent = probe(
    'cache',
    vi.fn(() => {
      probing.resolve()
      return new Promise<undefined>(() => undefined)
    }),
  )
  const scraped = readyMetrics(createOperationsApp({ ...parts, probes: [silent] }))
  await probing.promise
  vi.advanceTimersByTime(2_000)
  expect(await scraped).toEqual(['portico_ready{check="cache"} 0'])
})

test.each([
  ['failed', 'two cannot be asked while Redis does not answer'],
  ['ok', 'two does not answer'],
])('/status with cache %s: a replica that did not answer is reported as "%s"', async (cache, problem) => {
  const result = {
    ...{ version: '0.1.0', role: 'gateway', startedAt: '', uptimeSeconds: 1, readiness: 'draining' },
    ...{ checks: { cache }, reasons: {}, backends: {}, queues: {} },
    ...{ clockSkewSeconds: 0, memoryBytes: { rss: 1, heapUsed: 1 }, eventLoopLagSeconds: 0 },
  }
  const replicas = {
    answer: () => undefined,
    gather: async () => ({
      answers: [{ replica: 'one', result }],
      missing: [{ replica: 'two', lastSeenAt: systemClock.now() }],
    }),
    close: () => undefined,
  }
  const shared = { ledger: null, auditHead: null, jobs: null, eventsLagSeconds: null, webhookDeliveriesWaiting: null }
  expect((await gatherStatus(replicas, async () => shared)).problems).toEqual([problem])
})
