import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { packageVersion } from '../../src/config/env.ts'
import { needs } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { promtool, promtoolIsInstalled } from '../harness/promtool.ts'
import { sendRaw } from '../harness/raw.ts'
import { root, upstreamAt } from '../harness/settings.ts'
import { signInOnly } from '../harness/sign-in.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const traceparent = `00-${traceId}-b7ad6b7169203331-01`

function namesIn(text: string): Set<string> {
  return new Set(
    [...text.matchAll(/portico_[a-z0-9_]*[a-z0-9]/g)].map(([name]) => name.replace(/_(bucket|count|sum)$/, '')),
  )
}

describe('observability for operators', () => {
  let portico: Portico
  let upstream: Server
  let exposed: Set<string>
  const seen: IncomingHttpHeaders[] = []

  const metrics = async () => (await fetch(`${portico.operationsUrl}/metrics`)).text()
  const explain = async (requestId: string) => {
    const response = await fetch(`${portico.operationsUrl}/explain/${encodeURIComponent(requestId)}`)
    return { status: response.status, found: await response.json() }
  }

  beforeAll(async () => {
    const port = await freePort()
    upstream = createServer((request, response) => {
      seen.push(request.headers)
      response.writeHead(200, { 'content-type': 'application/json' }).end('[]')
    }).listen(port, '127.0.0.1')
    portico = await startPortico({
      adjust: (settings) => {
        settings.tracing.enabled = true
        settings.limits.groups.forgot = { address: { limit: 1, windowMs: 3_600_000 } }
        settings.limits.scale = 1
        settings.backends.constants = upstreamAt(`http://127.0.0.1:${port}`)
      },
    })
    exposed = new Set([...(await metrics()).matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
  })
  afterAll(async () => {
    upstream?.close()
    await portico?.stop()
  })

  test('promtool accepts the metrics', needs(promtoolIsInstalled(), 'promtool is not installed'), async () => {
    expect(promtool(['check', 'metrics'], await metrics())).toEqual({ code: 0, out: '' })
  })

  test('every metric of the dashboard is exposed', () => {
    const shown = namesIn(readFileSync(join(root, 'deploy/grafana/portico.json'), 'utf8'))
    expect(shown.size).toBeGreaterThan(10)
    expect([...shown].filter((name) => !exposed.has(name))).toEqual([])
  })

  test('every metric of the alert rules is exposed', () => {
    const watched = namesIn(readFileSync(join(root, 'deploy/prometheus/alerts.yaml'), 'utf8'))
    expect(watched.size).toBeGreaterThan(10)
    expect([...watched].filter((name) => !exposed.has(name))).toEqual([])
  })

  test('the dashboard shows every metric of Portico', () => {
    const shown = namesIn(readFileSync(join(root, 'deploy/grafana/portico.json'), 'utf8'))
    const own = [...exposed].filter((name) => !/^portico_(nodejs|process)_/.test(name))
    expect(own.filter((name) => !shown.has(name))).toEqual([])
  })

  test('panel ids of the dashboard are unique, because Grafana identifies panels by them', () => {
    const { panels } = JSON.parse(readFileSync(join(root, 'deploy/grafana/portico.json'), 'utf8'))
    const ids = panels.map(({ id }: { id: number }) => id)
    expect(ids.length).toBeGreaterThan(10)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('docs/reference/metrics.md documents every metric of Portico and no other one', () => {
    const documented = namesIn(readFileSync(join(root, 'docs/reference/metrics.md'), 'utf8'))
    const own = [...exposed].filter((name) => !/^portico_(nodejs|process)_/.test(name))
    expect(own.filter((name) => !documented.has(name))).toEqual([])
    expect([...documented].filter((name) => !exposed.has(name) && !/^portico_(nodejs|process)$/.test(name))).toEqual([])
  })

  test('docs/reference/metrics.md states the type of each metric', async () => {
    const types = new Map(
      [...(await metrics()).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]),
    )
    const page = readFileSync(join(root, 'docs/reference/metrics.md'), 'utf8')
    const rows = [...page.matchAll(/^\| `(portico_\w+)` \| (\w+) \|/gm)].map(([, name, type]) => [name, type])
    expect(rows.length).toBeGreaterThan(10)
    expect(rows.filter(([name, type]) => types.get(name) !== type)).toEqual([])
  })

  test.each(['/health/live/', '/Health/live', '/METRICS', '/mail.json/'])(
    '404 of the operations listener for %s: only one spelling of a path matches',
    async (path) => {
      expect((await fetch(portico.operationsUrl + path)).status).toBe(404)
    },
  )

  test('an invalid request of the operations listener is refused without a stack trace', async () => {
    const response = await fetch(`${portico.operationsUrl}/explain/%ff`)
    expect([response.status, await response.json()]).toEqual([400, { status: 'failed' }])
  })

  test('the development outbox shows the mails in a page that loads and runs nothing else', async () => {
    await signInOnly(portico)
    const { subject } = await portico.mailTo('owner@demo.test', 'login-code')
    const response = await fetch(`${portico.operationsUrl}/mail`)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; frame-ancestors 'none'$/,
    )
    expect(await response.text()).toContain(`<h2 lang="en">${subject}</h2>`)
  })

  test('explain of a refused request: stages that passed, refused and were not reached', async () => {
    const requestId = randomUUID()
    await portico.call('GET', '/web/v1/consumer/profile', {
      token: 'no.such.token',
      headers: { 'x-request-id': requestId },
    })
    const { status, found } = await explain(requestId)
    expect(status).toBe(200)
    expect(found).toHaveLength(1)
    expect(found[0]).toMatchObject({ requestId, operation: 'profile.read', status: 401, code: 'ACCESS.TOKEN_INVALID' })
    expect(found[0].stages.find(({ stage }: { stage: string }) => stage === 'authenticate').ms).toBeGreaterThanOrEqual(
      0,
    )
    const verdicts = Object.fromEntries(
      found[0].stages.map(({ stage, verdict }: { stage: string; verdict: string }) => [stage, verdict]),
    )
    expect(verdicts).toMatchObject({
      route: 'passed',
      portalAccessCode: 'passed',
      clientHash: 'passed',
      authenticate: 'refused',
      workspace: 'not reached',
      answer: 'not reached',
    })
  })

  test('explain of a served request has durations; 404 for an unknown id', async () => {
    const { accessToken: token } = await signInOnly(portico)
    const requestId = 'a/strange?id'
    await portico.call('GET', '/web/v1/consumer/wallets', { token, headers: { 'x-request-id': requestId } })
    const { found } = await explain(requestId)
    expect(found[0]).toMatchObject({ status: 200, code: null, chain: 'consumer' })
    expect(found[0].stages.at(-1)).toEqual({ stage: 'answer', verdict: 'passed' })
    expect(found[0].stages.find(({ stage }: { stage: string }) => stage === 'serve').ms).toBeGreaterThan(0)
    expect(JSON.stringify(found)).not.toContain(token)
    expect(await explain(randomUUID())).toEqual({ status: 404, found: [] })
  })

  test('explain of an unknown path: refused by the route', async () => {
    const requestId = randomUUID()
    await portico.call('GET', '/web/v1/consumer/nowhere', { headers: { 'x-request-id': requestId } })
    const { found } = await explain(requestId)
    expect(found[0].stages.slice(0, 2)).toEqual([
      { stage: 'route', verdict: 'refused' },
      { stage: 'edge', verdict: 'not reached' },
    ])
  })

  test('the trace of a trusted peer continues to the upstream and in the log', async () => {
    const requestId = randomUUID()
    const headers = { traceparent, 'x-request-id': requestId }
    const { status, text } = await portico.call('GET', '/web/v1/consumer/constants/countries', { headers })
    expect(status, text).toBe(200)
    expect(seen.at(-1)?.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
    expect(portico.log.find((line) => line.requestId === requestId)).toMatchObject({ traceId })
  })

  test('a request rejected by the parser is logged and counted without its content', async () => {
    expect((await sendRaw(portico.url, 'GET /secret HTTP/1.1\r\nX-Secret: a\0b\r\n\r\n')).status).toBe(400)
    expect(portico.log.filter(({ msg }) => msg === 'request malformed')).toMatchObject([
      { status: 400, reason: 'HPE_INVALID_HEADER_TOKEN', peer: '127.0.0.1' },
    ])
    expect(JSON.stringify(portico.log)).not.toMatch(/secret/i)
    expect(await metrics()).toContain('portico_malformed_requests_total{status="400"} 1')
  })

  test('the lines of a connection have all of its bytes, and name version, replica and upstream time', async () => {
    const edge = { host: 'portal.example', 'x-portal-access-code': 'consumer-dev', 'x-client-hash': 'a'.repeat(64) }
    const headers = { ...edge, 'x-forwarded-proto': 'https', 'cf-connecting-ip': '203.0.113.7', 'cf-ray': 'a-FRA' }
    const head = (id: string, more: string) =>
      `GET /web/v1/consumer/constants/countries HTTP/1.1\r\n${Object.entries({ ...headers, 'x-request-id': id })
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}cf-ipcountry: DE\r\nx-locale: en\r\n${more}\r\n`
    const ids = [randomUUID(), randomUUID()]
    const requests = [head(ids[0] ?? '', ''), head(ids[1] ?? '', 'connection: close\r\n')]
    const { text, responses } = await sendRaw(portico.url, requests.join(''))
    expect(responses).toBe(2)
    const lines = () => portico.log.filter(({ requestId }) => ids.some((id) => id === requestId))
    await expect.poll(lines).toHaveLength(2)
    const sum = (name: string) => lines().reduce((total, line) => total + Number(line[name]), 0)
    expect([sum('bytesReceived'), sum('bytesSent')]).toEqual([requests.join('').length, text.length])
    for (const line of lines())
      expect(line).toMatchObject({
        status: 200,
        upstreamMs: expect.any(Number),
        version: packageVersion(),
        replica: expect.stringMatching(/-\d+$/),
      })
  })

  test('limits and channel sessions are counted', async () => {
    const forgot = () =>
      portico.call('POST', '/web/v1/consumer/auth/password/forgot', {
        body: { email: 'nobody@demo.test', turnstileToken: 'x' },
      })
    await forgot()
    expect((await forgot()).status).toBe(429)
    await portico.call('POST', '/web/v1/consumer/secure-channel/session', { body: { payload: 'nothing' } })
    const text = await metrics()
    expect(text).toContain('portico_limit_hits_total{limit="forgot-address"} 1')
    expect(text).toContain('portico_channel_sessions_total{outcome="refused"} 1')
  })

  test('a failed job is counted by kind, next to kinds that never failed, and logged with its reason', async () => {
    await rm(join(portico.settings.dataDirectory, 'blobs'), { recursive: true, force: true })
    await writeFile(join(portico.settings.dataDirectory, 'blobs'), 'no folder')
    const { accessToken: token } = await signInOnly(portico)
    const body = { exportType: 'LOGIN_HISTORY', format: 'CSV', filters: {} }
    expect((await portico.call('POST', '/web/v1/consumer/exports', { token, body })).status).toBe(200)
    await expect.poll(metrics).toMatch(/^portico_job_failures_total\{kind="exports.run"\} [1-9]/m)
    for (const kind of ['files.sweep', 'database.vacuum', 'jobs'])
      expect(await metrics()).toContain(`portico_job_failures_total{kind="${kind}"} 0\n`)
    const line = portico.log.find(({ msg, kind }) => msg === 'job failed' && kind === 'exports.run')
    expect(line).toMatchObject({ level: 'warn', err: { type: 'BlobsUnavailable' } })
  })
})
