import express, { type ErrorRequestHandler, type Express, type Response } from 'express'
import type { Logger } from 'pino'
import { setDeadline } from '../platform/runtime/index.ts'
import type { Metrics } from '../platform/telemetry/index.ts'
import type { Explain } from './explain.ts'
import { answerOverRest } from './rest-of-body.ts'

/** A dependency that the replica cannot serve without; a rejected promise takes it out of rotation. */
export interface Probe {
  name: string
  check(): Promise<unknown>
}

export interface OutboxPage {
  /** The page's content security policy. */
  policy: string
  json(): Promise<unknown>
  html(): Promise<string>
}

export interface OperationsParts {
  probes: readonly Probe[]
  /** Whether the process is going down: readiness drops first. */
  isDraining(): boolean
  metrics: Metrics
  jwks(): Promise<object>
  explain: Explain['explain']
  /** In development only: the mails that would have been sent. */
  outbox: OutboxPage | null
  securityFields: Record<string, string>
  logger: Logger
}

const probeTimeoutMs = 2_000

const settle = async ({ name, check }: Probe): Promise<[string, 'ok' | 'failed']> => {
  const late = Promise.withResolvers<never>()
  const timer = setDeadline(() => late.reject(new Error('late')), probeTimeoutMs)
  try {
    await Promise.race([check(), late.promise])
    return [name, 'ok']
  } catch {
    return [name, 'failed']
  } finally {
    clearTimeout(timer)
  }
}

/** In the place of Express's own page for errors, which shows their stack wherever NODE_ENV is not `production`. */
const fault =
  (logger: Logger): ErrorRequestHandler =>
  (error, _request, response, _next) => {
    const isUnreadable = error instanceof URIError
    if (!isUnreadable) logger.error({ err: error }, 'a fault of the operations listener')
    if (response.headersSent) response.destroy()
    else response.status(isUnreadable ? 400 : 500).json({ status: 'failed' })
  }

/** The operations listener (design.md section 7): for the cluster and its people, never for the portals' users. */
export const createOperationsApp = (parts: OperationsParts): Express => {
  const app = express()
  // One spelling of a path, as on the portals: a rule of a proxy that keeps `/mail` away means `/MAIL` and `/mail/` too.
  app.disable('x-powered-by').enable('case sensitive routing').enable('strict routing')
  app.use((request, response, next) => {
    answerOverRest(request, response)
    response.set(parts.securityFields)
    next()
  })
  app.get('/health/live', (_request, response) => void response.json({ status: 'live' }))
  app.get('/health/ready', async (_request, response) => {
    const checks = Object.fromEntries(await Promise.all(parts.probes.map(settle)))
    const draining = parts.isDraining()
    const ready = !draining && Object.values(checks).every((state) => state === 'ok')
    response.status(ready ? 200 : 503).json({ status: draining ? 'draining' : ready ? 'ready' : 'unready', checks })
  })
  app.get('/metrics', async (_request, response) => {
    const { contentType, text } = await parts.metrics.expose()
    response.type(contentType).send(text)
  })
  app.get('/.well-known/jwks.json', async (_request, response) => void response.json(await parts.jwks()))
  app.get('/explain/:requestId', (request, response) => {
    const found = parts.explain(request.params.requestId)
    response.status(found.length > 0 ? 200 : 404).json(found)
  })
  const { outbox } = parts
  if (outbox) {
    app.get('/mail.json', async (_request, response) => void response.json(await outbox.json()))
    app.get('/mail', async (_request, response: Response) => {
      response
        .type('html')
        .set('content-security-policy', outbox.policy)
        .send(await outbox.html())
    })
  }
  app.use(fault(parts.logger))
  return app
}
