import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Request as HttpRequest, Response as HttpResponse, NextFunction } from 'express'
import { headers as knownHeaders } from '../../contract/headers.ts'
import { type Clock, chains, findChain, type Ids, parseLocale, Refusal } from '../../kernel/index.ts'
import type { Metrics } from '../../platform/telemetry/index.ts'
import type { FinishedRequest } from '../observability/request-log.ts'
import { Call, runStages, type Stage } from '../pipeline/call.ts'
import { Headers } from '../pipeline/headers.ts'
import type { Router } from '../pipeline/router.ts'
import type { LimitUnmatched, UnmatchedRequest } from '../pipeline/stages/limits.ts'
import { localeHeaderOf } from '../pipeline/stages/request-headers.ts'
import { closeAfterResponse, closeIfBodyUnread, hasUnreadBody } from './connection.ts'
import { toRefusal } from './error-handler.ts'
import type { RefusalContext, ResponseWriter } from './response-writer.ts'

export interface RequestHandlerPorts {
  router: Router
  stages: readonly Stage[]
  /** Counts a request that matched no operation. Throws ACCESS.RATE_LIMITED. */
  limitUnmatched: LimitUnmatched
  responses: ResponseWriter
  clock: Clock
  ids: Ids
  metrics: Metrics
  log(finished: FinishedRequest): void
  /** Whether an error means that a dependency is unavailable. */
  isUnavailable(error: unknown): boolean
}

const splitUrl = (url: string): { path: string; query: string } => {
  const at = url.indexOf('?')
  return at < 0 ? { path: url, query: '' } : { path: url.slice(0, at), query: url.slice(at + 1) }
}

const isChainUrl = (url: string): boolean => url.startsWith('/web/') || url.startsWith('/api/')

const requestIdOf = ({ headers }: HttpRequest, ids: Ids): string => {
  const value = headers[knownHeaders.requestId.field]
  return typeof value === 'string' && knownHeaders.requestId.accepts(value) ? value : ids.next()
}

const toCall = ({ router, clock }: RequestHandlerPorts, request: HttpRequest, requestId: string): Call => {
  const { path, query } = splitUrl(request.url)
  const method = request.method
  const headers = new Headers(request)
  const peer = request.socket.remoteAddress
  // A reset socket has no remote address. Nobody would receive the response.
  if (peer === undefined) throw new Refusal('REQUEST.MALFORMED', { internal: 'client disconnected' })
  const { operation, chainId, params } = router(method, path)
  const [body, receivedAt] = [request, clock.now()]
  return new Call({ operation, chainId, params, method, path, query, headers, peer, requestId, body, receivedAt })
}

/** Returns the context of a request that matched no operation. Reads the locale as the edge stage does. */
const toUnmatched = (request: HttpRequest): UnmatchedRequest & RefusalContext => {
  const chainId = findChain(splitUrl(request.url).path)
  const headers = new Headers(request)
  const locale = parseLocale(headers.informative(localeHeaderOf(chains[chainId])))
  const peer = request.socket.remoteAddress ?? ''
  return { chainId, locale, limit: null, headers, peer, edgeTrusted: false, clientIp: peer }
}

/** Resolves with the refusal to send: the original one, or the address limit's if the client has exceeded it. */
const limitRefusal = async (
  { limitUnmatched, isUnavailable }: RequestHandlerPorts,
  unmatched: UnmatchedRequest,
  refusal: Refusal,
): Promise<Refusal> => {
  // A reset socket has no address.
  if (unmatched.peer === '') return refusal
  try {
    await limitUnmatched(unmatched)
    return refusal
  } catch (error) {
    return toRefusal(error, isUnavailable)
  }
}

const sendRefusal = (
  { responses }: RequestHandlerPorts,
  request: HttpRequest,
  response: HttpResponse,
  { context, requestId, refusal }: { context: RefusalContext; requestId: string; refusal: Refusal },
): void => {
  if (response.headersSent) return void response.destroy()
  // A client that sent its body too slowly gets no additional time.
  if (refusal.code === 'REQUEST.TIMEOUT' && hasUnreadBody(request)) closeAfterResponse(request, response)
  else closeIfBodyUnread(request, response)
  responses.write(response, requestId, responses.renderRefusal(refusal, context))
}

async function handleRequest(ports: RequestHandlerPorts, request: HttpRequest, response: HttpResponse): Promise<void> {
  const { responses } = ports
  const stopTimer = ports.metrics.startRequest()
  const requestId = requestIdOf(request, ports.ids)
  let call: Call | null = null
  let refusal: Refusal | null = null
  try {
    call = toCall(ports, request, requestId)
    await runStages(ports.stages, call)
    closeIfBodyUnread(request, response)
    if (typeof call.reply === 'string') responses.write(response, requestId, responses.renderSuccess(call, call.reply))
    else await responses.writeStream(response, call, call.reply)
  } catch (error) {
    const context = call ?? toUnmatched(request)
    refusal = toRefusal(error, ports.isUnavailable)
    if (!(context instanceof Call)) refusal = await limitRefusal(ports, context, refusal)
    // A body that arrives in the same packet as its head is parsed within this turn of the event loop.
    if (hasUnreadBody(request)) await nextTurn()
    sendRefusal(ports, request, response, { context, requestId, refusal })
  }
  const status = response.statusCode
  const ms = stopTimer({ operation: call?.operation.id ?? 'none', status, code: refusal?.code ?? null })
  ports.log({ requestId, call, refusal, status, ms })
}

/**
 * Returns the Express handlers of the chains. They create a Call from a request, run the stages, write the result, and
 * report to the log and the metrics. Only this code connects the pipeline and HTTP.
 */
export function createRequestHandler(ports: RequestHandlerPorts) {
  const handle = (request: HttpRequest, response: HttpResponse) => handleRequest(ports, request, response)
  return {
    /** Handles the chains' paths; passes every other path on to the pages. */
    chains: (request: HttpRequest, response: HttpResponse, next: NextFunction): Promise<void> | void =>
      isChainUrl(request.url) ? handle(request, response) : next(),
    /** Responds with a 404 envelope to a path without a page. */
    notFoundHandler: handle,
  }
}
