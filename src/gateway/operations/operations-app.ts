import express, { type ErrorRequestHandler, type Express, type Response } from 'express'
import type { Logger } from 'pino'
import { createReadinessMetrics, type Metrics } from '../../platform/telemetry/index.ts'
import { closeIfBodyUnread } from '../http/connection.ts'
import { createHostCheck } from './allowed-hosts.ts'
import { type IndexPageParts, indexPolicy, renderIndex } from './index-page.ts'
import { openMetricsType, prefersOpenMetrics, toOpenMetrics } from './openmetrics.ts'
import { type Probe, type ProbeResult, runProbe } from './probes.ts'
import { shareRun } from './shared-run.ts'
import { describeMetrics, workerMetricsPath } from './workers/metrics.ts'

export interface OutboxPage {
  policy: string
  json(): Promise<unknown>
  html(): Promise<string>
}

export interface OperationsParts {
  probes: readonly Probe[]
  /** Readiness fails while the process is shutting down. */
  isDraining(): boolean
  metrics: Metrics
  jwks(): Promise<object>
  /** By the id of a request, or of an event or its object. */
  explain(id: string): Promise<{ entries: readonly object[]; missing: readonly string[] }>
  /** Of all replicas. */
  status(): Promise<object>
  /** Null except in the development profile. */
  outbox: OutboxPage | null
  index: IndexPageParts
  securityHeaders: Record<string, string>
  /** Whether a supervisor adds the metrics of several workers up. */
  isWorker: boolean
  /** Names that clients can use in `Host`. */
  allowedHosts: readonly string[]
  logger: Logger
}

const probeTimeoutMs = 2_000
/** Clients accept 16 KB of headers, and a name has up to 300 characters. */
const maxMissingNames = 40

/** Only the cluster may reach this listener, not clients. */
export function createOperationsApp(parts: OperationsParts): Express {
  const app = express()
  const isAllowedHost = createHostCheck(parts.allowedHosts)
  const checks = shareRun(() => Promise.all(parts.probes.map((probe) => runProbe(probe, probeTimeoutMs))))
  createReadinessMetrics(parts.metrics.registry, async () =>
    Object.fromEntries((await checks.recent()).map(({ name, state }) => [name, state === 'ok'])),
  )
  // Match only one spelling of a path. Otherwise a proxy rule that blocks `/mail` would also have to block `/MAIL` and
  // `/mail/`.
  app.disable('x-powered-by').enable('case sensitive routing').enable('strict routing')
  app.use((request, response, next) => {
    closeIfBodyUnread(request, response)
    response.set(parts.securityHeaders)
    next()
  })
  // Load balancers check health without a Host, or under another name. They get no reasons, which can contain addresses.
  app.get('/health/live', (_request, response) => void response.json({ status: 'live' }))
  app.get('/health/ready', async (request, response) =>
    sendReadiness(await checks.now(), parts.isDraining(), isAllowedHost(request.headers.host), response),
  )
  app.use((request, response, next) => {
    if (isAllowedHost(request.headers.host)) next()
    else response.status(421).json({ status: 'failed' })
  })
  app.get('/', async (_request, response) => {
    const results = await checks.recent()
    const paths = ['/health/ready', '/status', '/metrics', '/.well-known/jwks.json', ...(parts.outbox ? ['/mail'] : [])]
    const state = { readiness: readinessOf(results, parts.isDraining()), checks: results, paths }
    response.type('html').set('content-security-policy', indexPolicy).send(renderIndex(parts.index, state))
  })
  app.get('/metrics', async ({ headers }, response) => {
    const { contentType, text, exemplars } = await parts.metrics.expose()
    if (prefersOpenMetrics(headers.accept ?? '')) response.type(openMetricsType).send(toOpenMetrics(text, exemplars))
    else response.type(contentType).send(text)
  })
  if (parts.isWorker)
    app.get(workerMetricsPath, async (_request, response) => void response.json(await describeMetrics(parts.metrics)))
  app.get('/.well-known/jwks.json', async (_request, response) => void response.json(await parts.jwks()))
  app.get('/explain/:id', async (request, response) => {
    const { entries, missing } = await parts.explain(request.params.id)
    response
      .status(entries.length > 0 ? 200 : 404)
      .set('x-portico-missing-replicas', missing.slice(0, maxMissingNames).join(', '))
      .json(entries)
  })
  app.get('/status', async (_request, response) => void response.json(await parts.status()))
  if (parts.outbox) addOutbox(app, parts.outbox)
  app.use(createErrorHandler(parts.logger))
  return app
}

function sendReadiness(
  results: readonly ProbeResult[],
  draining: boolean,
  showsReasons: boolean,
  response: Response,
): void {
  const readiness = readinessOf(results, draining)
  const failed = results.flatMap(({ name, reason }) => (reason === undefined ? [] : [[name, reason]]))
  response.status(readiness === 'ready' ? 200 : 503).json({
    status: readiness,
    checks: Object.fromEntries(results.map(({ name, state }) => [name, state])),
    ...(showsReasons && failed.length > 0 && { reasons: Object.fromEntries(failed) }),
  })
}

function readinessOf(results: readonly ProbeResult[], draining: boolean): 'ready' | 'unready' | 'draining' {
  if (draining) return 'draining'
  return results.every(({ state }) => state !== 'failed') ? 'ready' : 'unready'
}

function addOutbox(app: Express, outbox: OutboxPage): void {
  app.get('/mail.json', async (_request, response) => void response.json(await outbox.json()))
  app.get('/mail', async (_request, response: Response) => {
    response
      .type('html')
      .set('content-security-policy', outbox.policy)
      .send(await outbox.html())
  })
}

/** Replaces Express's error page, which shows the stack unless NODE_ENV is `production`. */
function createErrorHandler(logger: Logger): ErrorRequestHandler {
  return (error, _request, response, _next) => {
    const isInvalidPath = error instanceof URIError
    if (!isInvalidPath) logger.error({ err: error }, 'error on the operations listener')
    if (response.headersSent) response.destroy()
    else response.status(isInvalidPath ? 400 : 500).json({ status: 'failed' })
  }
}
