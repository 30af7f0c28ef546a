import type { Request as HttpRequest, Response as HttpResponse } from 'express'
import { type Clock, type Refusal, StreamReply } from '../kernel/index.ts'
import type { Metrics } from '../platform/telemetry/index.ts'
import type { Answer, Answers } from './answer.ts'
import { Call, runStages, type Stage } from './call.ts'
import { Headers } from './headers.ts'
import type { Router } from './router.ts'

export interface DoorPorts {
  router: Router
  stages: readonly Stage[]
  answers: Answers
  clock: Clock
  metrics: Metrics
  /** Makes a refusal of whatever was thrown. */
  refusalOf(error: unknown): Refusal
}

const splitUrl = (url: string): { path: string; query: string } => {
  const at = url.indexOf('?')
  return at < 0 ? { path: url, query: '' } : { path: url.slice(0, at), query: url.slice(at + 1) }
}

const hasBody = ({ headers }: HttpRequest): boolean =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'

/**
 * The one Express handler of the chains: it makes a Call of the request, runs the stages over it and writes what
 * came of it. It is the only place where the pipeline meets HTTP.
 */
export const createDoor = ({ router, stages, answers, clock, metrics, refusalOf }: DoorPorts) => {
  const arrive = (request: HttpRequest, requestId: string): Call => {
    const { path, query } = splitUrl(request.url)
    const method = request.method
    const headers = new Headers(request.rawHeaders)
    const peer = request.socket.remoteAddress ?? ''
    return new Call({
      ...router(method, path),
      method,
      path,
      query,
      headers,
      peer,
      requestId,
      body: request,
      receivedAt: clock.now(),
    })
  }

  return async (request: HttpRequest, response: HttpResponse): Promise<void> => {
    const finish = metrics.startRequest()
    const requestId = String(request.id)
    let call: Call | null = null
    let answer: Answer
    let code: string | null = null
    try {
      call = arrive(request, requestId)
      response.locals.call = call
      await runStages(stages, call)
      if (call.data instanceof StreamReply) {
        await answers.stream(response, call, call.data)
        return finish({ operation: call.operation.id, status: call.data.status, code })
      }
      answer = answers.success(call)
    } catch (error) {
      const refusal = refusalOf(error)
      response.locals.refusal = refusal
      code = refusal.code
      answer = answers.refusal(refusal, call)
    }
    if (response.headersSent) return void response.destroy()
    // What is left of a body that nobody read is not waited for.
    if (hasBody(request) && !request.complete) response.setHeader('connection', 'close')
    answers.write(response, requestId, answer)
    finish({ operation: call?.operation.id ?? 'none', status: answer.status, code })
  }
}
