import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { dump, load } from 'js-yaml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { developmentIds } from '../../src/seed/development.ts'
import { createClient, type FaultClient } from '../faults/client.ts'
import { startConfigured } from '../harness/configured.ts'
import { needs } from '../harness/needs.ts'
import { freePort } from '../harness/postgres.ts'
import type { Directory } from '../harness/prepared.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { prometheusIsInstalled, startPrometheus, type TestPrometheus } from '../harness/prometheus.ts'
import { root } from '../harness/settings.ts'
import { signInOnly } from '../harness/sign-in.ts'
import { seededDirectory } from '../harness/template.ts'
import { type EventReader, openEventStream, readEvents } from './event-streams-world.ts'

const Rules = z.object({
  groups: z.array(
    z.object({
      rules: z.array(
        z.object({ alert: z.string(), expr: z.string(), annotations: z.object({ summary: z.string() }).loose() }),
      ),
    }),
  ),
})
const rules = Rules.parse(load(readFileSync(join(root, 'deploy/prometheus/alerts.yaml'), 'utf8'))).groups.flatMap(
  (group) => group.rules,
)

const Configuration = z.looseObject({
  scrape_configs: z.tuple([z.looseObject({ static_configs: z.tuple([z.object({ targets: z.array(z.string()) })]) })]),
})

/** The configuration of the guide, for one replica, with shorter intervals. */
function guideConfiguration(target: string): string {
  const guide = readFileSync(join(root, 'docs/guides/monitor.md'), 'utf8')
  const printed = Configuration.parse(load(/```yaml\n(scrape_configs:.*?)```/s.exec(guide)?.[1] ?? ''))
  const [scrape] = printed.scrape_configs
  return dump({
    ...printed,
    global: { evaluation_interval: '1s' },
    scrape_configs: [{ ...scrape, scrape_interval: '1s', static_configs: [{ targets: [target] }] }],
  })
}

/** Prometheus may evaluate before the first scrape. A busy machine may miss a scrape, or exceed the time of a check. */
const briefAlerts = new Set(['PorticoDown', 'PorticoReplicaDown', 'PorticoNotReady', 'PorticoUnavailable'])

describe('the shipped alert rules', needs(prometheusIsInstalled(), 'Prometheus is not installed'), () => {
  let store: Directory
  let gateway: PorticoProcess
  let portico: FaultClient
  let prometheus: TestPrometheus
  let upstream: Server
  let stream: EventReader | undefined

  beforeAll(async () => {
    const port = await freePort()
    upstream = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('[]')
    }).listen(port, '127.0.0.1')
    store = await seededDirectory()
    const limits = { groups: { forgot: { address: { limit: 1, windowMs: 3_600_000 } } } }
    const next = { url: `http://localhost:${port}`, audience: 'next', share: 0 }
    const backends = { constants: { url: `http://127.0.0.1:${port}`, canary: next } }
    const variables = { PORTICO_DATA_DIR: store.directory, LOG_LEVEL: 'silent' }
    gateway = await startConfigured(variables, { limits, backends })
    portico = createClient(() => [gateway])
    prometheus = await startPrometheus(guideConfiguration(new URL(gateway.operationsUrl).host))
  })
  afterAll(async () => {
    await stream?.cancel()
    upstream?.close()
    await prometheus?.stop()
    await gateway?.stop()
    await store?.remove()
  })

  test('no alert is pending or firing after a healthy start', async () => {
    await expect.poll(() => prometheus.query('count_over_time(portico_ready[10m]) >= 3')).not.toEqual([])
    await expect.poll(() => prometheus.query('portico_ledger_checked_timestamp_seconds > 0')).toHaveLength(1)
    // The machine may have a full disk.
    const alerts = 'ALERTS{alertname!="PorticoDiskAlmostFull"}'
    const seen = await prometheus.query(`count by (alertname, alertstate) (count_over_time(${alerts}[10m]))`)
    expect(seen.map(({ metric }) => metric).filter(({ alertname = '' }) => !briefAlerts.has(alertname))).toEqual([])
    await expect.poll(() => prometheus.query(alerts)).toEqual([])
  })

  test('every rule selects series that the gateway exposes, by labels that these series have', async () => {
    const { accessToken: token } = await signInOnly(portico)
    await portico.call('GET', '/web/v1/consumer/constants/countries', {})
    await portico.call('GET', '/web/v1/consumer/profile', { token: 'no.such.token' })
    const forgot = { body: { email: 'nobody@demo.test', turnstileToken: 'x' } }
    for (const _ of [1, 2]) await portico.call('POST', '/web/v1/consumer/auth/password/forgot', forgot)
    const opening = { token, workspace: developmentIds.workspace }
    const opened = await openEventStream({ urls: [gateway.url] }, '/web/v1/consumer/events/stream', opening)
    expect(opened.status).toBe(200)
    stream = readEvents(opened)
    const selectors = new Set(rules.flatMap(({ expr }) => selectorsIn(expr)))
    expect(selectors.size).toBeGreaterThan(30)
    const findMissing = async () => {
      const found = await Promise.all(
        [...selectors].map(async (each) => [each, await prometheus.series(each)] as const),
      )
      return found.filter(([, series]) => series.length === 0).map(([selector]) => selector)
    }
    await expect.poll(findMissing, { timeout: 30_000 }).toEqual([])
    for (const { alert, expr, annotations } of rules) {
      const series = (await Promise.all(selectorsIn(expr).map((each) => prometheus.series(each)))).flat()
      const labels = new Set(series.flatMap(Object.keys))
      expect([alert, labelsIn(`${expr} ${annotations.summary}`).filter((label) => !labels.has(label))]).toEqual([
        alert,
        [],
      ])
    }
  })
})

/** `portico_ready{check="store"}`, without functions, ranges and labels of groups. */
function selectorsIn(expression: string): string[] {
  return [...expression.matchAll(/\b(?:portico_\w+|up)\b(?:\{[^}]*\})?/g)].map(([selector]) => selector)
}

/** Labels by which an expression groups or joins, and those that a summary shows. */
function labelsIn(text: string): string[] {
  const groups = [...text.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(/,\s*/))
  const shown = [...text.matchAll(/\$labels\.(\w+)/g)].map(([, name = '']) => name)
  return [...groups, ...shown].filter((name) => name !== '' && name !== 'le')
}
