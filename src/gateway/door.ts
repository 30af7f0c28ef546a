import { setImmediate as parsed } from 'node:timers/promises'
import type { Request as HttpRequest, Response as HttpResponse, NextFunction } from 'express'
import { type Clock, chains, findChain, type Ids, parseLocale, Refusal } from '../kernel/index.ts'
import type { Metrics } from '../platform/telemetry/index.ts'
import type { Answers, Asked } from './answer.ts'
import { Call, runStages, type Stage } from './call.ts'
import { Headers } from './headers.ts'
import { answerLast } from './last-answer.ts'
import type { Finished } from './request-log.ts'
import { answerOverRest, isUnderWay } from './rest-of-body.ts'
import type { Router } from './router.ts'
import { localeField } from './stages/edge.ts'
import { requestIdPattern } from './stages/required-headers.ts'

export interface DoorPorts {
  router: Router
  stages: readonly Stage[]
  answers: Answers
  clock: Clock
  ids: Ids
  metrics: Metrics
  log(finished: Finished): void
  /** Makes a refusal of whatever was thrown. */
  refusalOf(error: unknown): Refusal
}

const splitUrl = (url: string): { path: string; query: string } => {
  const at = url.indexOf('?')
  return at < 0 ? { path: url, query: '' } : { path: url.slice(0, at), query: url.slice(at + 1) }
}

const isOfAChain = (url: string): boolean => url.startsWith('/web/') || url.startsWith('/api/')

/**
 * The one Express handler of the chains: it makes a Call of the request, runs the stages over it, writes what came of it,
 * and tells the log and the metrics. It is the only place where the pipeline meets HTTP.
 */
export const createDoor = ({ router, stages, answers, clock, ids, metrics, log, refusalOf }: DoorPorts) => {
  const arrive = (request: HttpRequest, requestId: string): Call => {
    const { path, query } = splitUrl(request.url)
    const method = request.method
    const headers = new Headers(request)
    const peer = request.socket.remoteAddress
    // A socket that was reset has no other end any more: there is nobody to judge, and nobody to answer.
    if (peer === undefined) throw new Refusal('REQUEST.MALFORMED', { internal: 'client went away' })
    const { operation, chainId, params } = router(method, path)
    const [body, receivedAt] = [request, clock.now()]
    return new Call({ operation, chainId, params, method, path, query, headers, peer, requestId, body, receivedAt })
  }

  const idOf = ({ headers }: HttpRequest): string => {
    const given = headers['x-request-id']
    return typeof given === 'string' && requestIdPattern.test(given) ? given : ids.next()
  }

  /** As the stage `edge` reads it, for what is refused before there is a call. */
  const askedOf = ({ headers, url }: HttpRequest): Asked => {
    const chainId = findChain(splitUrl(url).path)
    const told = headers[localeField(chains[chainId])]
    return { chainId, locale: parseLocale(typeof told === 'string' ? told : undefined), limit: null }
  }

  const refuse = (
    request: HttpRequest,
    response: HttpResponse,
    call: Call | null,
    requestId: string,
    refusal: Refusal,
  ) => {
    if (response.headersSent) return void response.destroy()
    // One that drips has had its time.
    if (refusal.code === 'REQUEST.TIMEOUT' && isUnderWay(request)) answerLast(request, response)
    else answerOverRest(request, response)
    answers.write(response, requestId, answers.refusal(refusal, call ?? askedOf(request)))
  }

  const serve = async (request: HttpRequest, response: HttpResponse): Promise<void> => {
    const stopwatch = metrics.startRequest()
    const requestId = idOf(request)
    let call: Call | null = null
    let refusal: Refusal | null = null
    try {
      call = arrive(request, requestId)
      await runStages(stages, call)
      answerOverRest(request, response)
      if (typeof call.reply === 'string') answers.write(response, requestId, answers.success(call, call.reply))
      else await answers.stream(response, call, call.reply)
    } catch (error) {
      refusal = refusalOf(error)
      // What came in one packet with its head is parsed within this turn of the loop.
      if (isUnderWay(request)) await parsed()
      refuse(request, response, call, requestId, refusal)
    }
    const status = response.statusCode
    const ms = stopwatch({ operation: call?.operation.id ?? 'none', status, code: refusal?.code ?? null })
    log({ requestId, call, refusal, status, ms })
  }

  return {
    /** For the chains' paths; leaves all others to the pages behind it. */
    chains: (request: HttpRequest, response: HttpResponse, next: NextFunction): Promise<void> | void =>
      isOfAChain(request.url) ? serve(request, response) : next(),
    /** For what no page was found for: the same envelope, 404. */
    nowhere: serve,
  }
}
