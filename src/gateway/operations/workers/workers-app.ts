import type { Server } from 'node:http'
import express, { type Express, type Request, type Response } from 'express'
import type { Logger } from 'pino'
import type { Configuration } from '../../../config/index.ts'
import { closeIfBodyUnread } from '../../http/connection.ts'
import { createHttpServer } from '../../http/server.ts'
import { openMetricsType, prefersOpenMetrics, toOpenMetrics } from '../openmetrics.ts'
import { readinessOfWorkers } from './health.ts'
import { mergedExplanations, mergedStatus } from './merge.ts'
import { SummedMetrics, workerMetricsPath } from './metrics.ts'
import { type Answer, requestFrom, type ServingWorker } from './worker-request.ts'

export interface WorkersParts {
  settings: Configuration
  /** Those that serve. */
  workers(): readonly ServingWorker[]
  /** Numbers of those that do not serve yet, or not any more. */
  absent(): readonly number[]
  isDraining(): boolean
  logger: Logger
}

/** Longer than a probe of a worker. */
const healthTimeoutMs = 3_000
/** `/status` and `/explain` ask all replicas. */
const pageTimeoutMs = 10_000

/** The operations listener of a machine with several workers. It adds their answers up, or passes on those of one. */
export function createWorkersServer(parts: WorkersParts): Server {
  const { settings, isDraining, logger } = parts
  return createHttpServer({
    app: createWorkersApp(parts),
    upgrades: null,
    anyHostPrefix: '/health/',
    settings: settings.requests,
    isTuned: false,
    isDraining,
    onParseError: () => logger.debug('malformed request on the operations listener'),
  })
}

interface WorkerAnswer extends ServingWorker {
  /** Null if the worker did not answer. */
  answer: Answer | null
}

/** Workers check the header `Host`, and set all headers. */
function createWorkersApp({ settings, workers, absent, isDraining, logger }: WorkersParts): Express {
  const app = express()
  app.disable('x-powered-by').enable('case sensitive routing').enable('strict routing')
  const summed = new SummedMetrics()

  const requestFromAll = ({ headers }: Request, url: string, timeoutMs: number): Promise<WorkerAnswer[]> =>
    Promise.all(
      workers().map(async (worker) => ({
        ...worker,
        answer: await requestFrom(worker, { method: 'GET', url, headers }, timeoutMs).catch(() => null),
      })),
    )

  /** The first worker that answers. */
  const pass = async (request: Request, response: Response): Promise<void> => {
    const { method, url, headers } = request
    for (const worker of workers()) {
      const answer = await requestFrom(worker, { method, url, headers }, pageTimeoutMs).catch((error: unknown) => {
        logger.warn({ worker: worker.number, err: error }, 'worker does not answer on its operations listener')
        return null
      })
      if (answer) return send(response, answer)
    }
    response.status(503).json({ status: 'failed' })
  }

  app.use((request, response, next) => {
    closeIfBodyUnread(request, response)
    next()
  })
  app.get('/health/live', async (request, response) => {
    const answers = await requestFromAll(request, '/health/live', healthTimeoutMs)
    // An orchestrator restarts a process that does not answer. Here it restarts all of them.
    const silent = answers.filter(({ answer }) => answer === null)
    const [first] = answers
    if (first?.answer && silent.length === 0) send(response, first.answer)
    else response.status(503).json({ status: 'failed', silent: silent.map(({ number }) => number) })
  })
  app.get('/health/ready', async (request, response) => {
    const answers = await requestFromAll(request, '/health/ready', healthTimeoutMs)
    const body = readinessOfWorkers(answers, absent(), isDraining())
    for (const { answer } of answers) if (answer) response.set(ownHeaders(answer))
    response.status(body.status === 'ready' ? 200 : 503).json(body)
  })
  app.get('/metrics', async (request, response) => {
    const answers = await requestFromAll(request, workerMetricsPath, pageTimeoutMs)
    const refused = answers.find(({ answer }) => answer && answer.status !== 200)?.answer
    if (refused) return send(response, refused)
    const reports = answers.map(({ pid, answer }) => ({ pid, body: answer?.body ?? null }))
    const { contentType, text, exemplars } = await summed.sum(reports)
    for (const { answer } of answers) if (answer) response.set(ownHeaders(answer))
    if (prefersOpenMetrics(request.headers.accept ?? ''))
      response.type(openMetricsType).send(toOpenMetrics(text, exemplars))
    else response.type(contentType).send(text)
  })
  // With Redis, each worker asks all replicas, and thus the other workers.
  if (settings.redisUrl === null) {
    app.get('/explain/:id', async (request, response) =>
      send(response, mergedExplanations(answersOf(await requestFromAll(request, request.url, pageTimeoutMs)))),
    )
    app.get('/status', async (request, response) =>
      send(response, mergedStatus(answersOf(await requestFromAll(request, request.url, pageTimeoutMs)))),
    )
  }
  app.get(workerMetricsPath, (_request, response) => void response.status(404).json({ status: 'failed' }))
  app.use(pass)
  return app
}

function answersOf(answers: readonly WorkerAnswer[]): Answer[] {
  return answers.flatMap(({ answer }) => answer ?? [])
}

function send(response: Response, { status, headers, body }: Answer): void {
  response
    .status(status)
    .set(headers as Record<string, string | string[]>)
    .end(body)
}

function ownHeaders({ headers: { 'content-type': _type, etag: _etag, date: _date, ...headers } }: Answer) {
  return headers as Record<string, string | string[]>
}
