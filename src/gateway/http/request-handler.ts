import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Request as HttpRequest, Response as HttpResponse, NextFunction } from 'express'
import { headers as knownHeaders } from '../../contract/headers.ts'
import {
  type Clock,
  chains,
  type FindChain,
  type Ids,
  parseLocale,
  type Refusal,
  SocketReply,
  StreamReply,
} from '../../kernel/index.ts'
import { type IncomingMessage, ServerResponse } from '../../platform/runtime/index.ts'
import type { Metrics } from '../../platform/telemetry/index.ts'
import { bytesOf } from '../observability/bytes.ts'
import type { FinishedRequest, UnmatchedFacts } from '../observability/request-log.ts'
import { Call, type Client, clientDisconnected, runStages, type Stage } from '../pipeline/call.ts'
import { Headers, type ReceivedHeaders } from '../pipeline/headers.ts'
import type { Router } from '../pipeline/router.ts'
import type { LimitUncounted, UnmatchedRequest } from '../pipeline/stages/limits.ts'
import { localeHeaderOf, readUserAgent } from '../pipeline/stages/request-headers.ts'
import { type Handshake, isHandshake, readHandshake } from '../sockets/handshake.ts'
import {
  ClientConnection,
  closeAfterResponse,
  closeGently,
  closeIfBodyUnread,
  hasUnreadBody,
  watchDisconnect,
} from './connection.ts'
import type { Cors } from './cors.ts'
import { toRefusal } from './error-handler.ts'
import type { RefusalContext, ResponseWriter } from './response-writer.ts'
import type { UpgradeHandler } from './server.ts'

export interface RequestHandlerPorts {
  router: Router
  findChain: FindChain
  stages: readonly Stage[]
  limitUncounted: LimitUncounted
  responses: ResponseWriter
  /** Null in a domain service. */
  cors: Cors | null
  clock: Clock
  ids: Ids
  metrics: Metrics
  log(finished: FinishedRequest): void
  isUnavailable(error: unknown): boolean
}

/** No other code connects the pipeline with HTTP. */
export function createRequestHandler(ports: RequestHandlerPorts) {
  const handle = (request: HttpRequest, response: HttpResponse) => handleRequest(ports, request, response, null)
  const upgrades: UpgradeHandler = {
    accepts: (request) => isHandshake(request) && isSocketUrl(ports, request),
    handle: (request, socket, head) => handleUpgrade(ports, request, socket, head),
  }
  return {
    chains: (request: HttpRequest, response: HttpResponse, next: NextFunction): Promise<void> | void =>
      isChainUrl(request.url) ? handleFromPage(ports, request, response) : next(),
    admitToPage: (request: HttpRequest, response: HttpResponse, limit?: LimitUncounted) =>
      admitToPage(ports, request, response, limit),
    notFoundHandler: handle,
    upgrades,
  }
}

async function handleFromPage(ports: RequestHandlerPorts, request: HttpRequest, response: HttpResponse): Promise<void> {
  const { cors } = ports
  if (!cors?.isPreflight(request)) {
    cors?.setHeaders(request, response)
    await handleRequest(ports, request, response, null)
  } else await handlePreflight(ports, cors, request, response)
}

/** Preflights reach no operation. They share the address limit of operations, their log and their metrics. */
async function handlePreflight(
  ports: RequestHandlerPorts,
  cors: Cors,
  request: HttpRequest,
  response: HttpResponse,
): Promise<void> {
  const stopTimer = ports.metrics.startRequest()
  const [context, requestId] = [toUnmatched(ports, request), requestIdOf(request, ports.ids)]
  const exceeded = await limitRefusal(ports, context, null)
  const refusal = exceeded && sendRefusal(ports, request, response, { context, requestId, refusal: exceeded })
  if (!refusal) cors.respond(request, response)
  const unmatched = { ...toUnmatchedFacts(request, context), receivedAt: ports.clock.now() }
  const { statusCode: status } = response
  const ms = stopTimer({ operation: 'none', status, code: refusal?.code ?? null })
  ports.log({ requestId, call: null, unmatched, refusal, status, ms, bytes: bytesOf(request.socket) })
}

interface Upgrade {
  socket: Socket
  /** Bytes that the client has already sent after its request. */
  head: Buffer
  client: Client
}

async function handleRequest(
  ports: RequestHandlerPorts,
  request: IncomingMessage,
  response: ServerResponse,
  upgrade: Upgrade | null,
): Promise<void> {
  const stopTimer = ports.metrics.startRequest()
  const connection = new ClientConnection(request.socket)
  const client = upgrade?.client ?? connection
  let requestId = requestIdOf(request, ports.ids)
  let call: Call | null = null
  let refusal: Refusal | null = null
  let unmatched: UnmatchedFacts | undefined
  let isAbandoned = false
  try {
    const { handshake, received } = upgrade ? readHandshake(request) : { handshake: null, received: request }
    if (upgrade) requestId = requestIdOf(received, ports.ids)
    call = toCall(ports, request, { requestId, headers: received, handshake, client })
    await runStages(ports.stages, call)
    closeIfBodyUnread(request, response)
    isAbandoned = client.isGone
    if (!isAbandoned) await sendReply(ports, response, call, upgrade)
  } catch (error) {
    const context = call ?? toUnmatched(ports, request)
    refusal = toRefusal(error, ports.isUnavailable)
    if (!(context instanceof Call && context.isCounted)) refusal = await limitRefusal(ports, context, refusal)
    if (!(context instanceof Call)) unmatched = { ...toUnmatchedFacts(request, context), receivedAt: ports.clock.now() }
    // A body in the same packet as its request head is parsed within this turn of the event loop.
    if (hasUnreadBody(request)) await nextTurn()
    isAbandoned = client.isGone && !response.headersSent
    if (response.headersSent || client.isGone) response.destroy()
    else refusal = sendRefusal(ports, request, response, { context, requestId, refusal })
  } finally {
    if (call) releaseReply(call)
    call?.onFinished?.()
    connection.release()
  }
  const status = isAbandoned ? null : response.statusCode
  const traceId = call?.trace?.span.isRecording() ? call.trace.traceId : undefined
  const ms = stopTimer({ operation: call?.operation.id ?? 'none', status, code: refusal?.code ?? null, traceId })
  ports.log({ requestId, call, unmatched, refusal, status, ms, bytes: bytesOf(request.socket) })
}

function requestIdOf({ headers }: ReceivedHeaders, ids: Ids): string {
  const value = headers[knownHeaders.requestId.field]
  return typeof value === 'string' && knownHeaders.requestId.accepts(value) ? value : ids.next()
}

interface Received {
  requestId: string
  headers: ReceivedHeaders
  handshake: Handshake | null
  client: Client
}

function toCall({ router, clock }: RequestHandlerPorts, request: IncomingMessage, received: Received): Call {
  const { path, query } = splitUrl(request.url ?? '')
  const { method = '' } = request
  const { requestId, handshake, client } = received
  const headers = new Headers(received.headers)
  const peer = request.socket.remoteAddress
  // A reset socket has no remote address, and nobody would receive the response.
  if (peer === undefined) throw clientDisconnected()
  const { operation, chainId, chain, params, below = null } = router(method, path)
  return new Call({
    operation,
    chainId,
    chain,
    params,
    below,
    method,
    path,
    query,
    headers,
    peer,
    client,
    body: request,
    receivedAt: clock.now(),
    requestId,
    handshake,
  })
}

function splitUrl(url: string): { path: string; query: string } {
  const at = url.indexOf('?')
  return at < 0 ? { path: url, query: '' } : { path: url.slice(0, at), query: url.slice(at + 1) }
}

async function sendReply(
  { responses }: RequestHandlerPorts,
  response: ServerResponse,
  call: Call,
  upgrade: Upgrade | null,
): Promise<void> {
  const { reply, relay, handshake, requestId } = call
  if (typeof reply === 'string') responses.write(response, requestId, responses.renderSuccess(call, reply))
  else if (!(reply instanceof SocketReply)) await responses.writeStream(response, call, reply)
  else if (!upgrade || !relay || !handshake) throw new Error('a WebSocket needs a handshake')
  else {
    response.detachSocket(upgrade.socket)
    response.statusCode = 101
    // The socket has its own log line when it closes.
    relay.start(handshake, upgrade.socket, upgrade.head)
  }
}

const scimPrefix = `${chains.systemApi.prefix}/scim/`

function toUnmatched(
  { findChain }: Pick<RequestHandlerPorts, 'findChain'>,
  request: IncomingMessage,
): UnmatchedRequest & RefusalContext {
  const { path } = splitUrl(request.url ?? '')
  const { chainId, chain } = findChain(path)
  const isScim = path.startsWith(scimPrefix)
  const headers = new Headers(request)
  const locale = parseLocale(headers.informative(localeHeaderOf(chain)))
  const peer = request.socket.remoteAddress ?? ''
  const client = { headers, peer, edgeTrusted: false, clientIp: peer }
  return { chainId, chain, isScim, locale, limit: null, idempotencyKey: null, ...client }
}

/** The refusal of the address limit takes precedence. */
async function limitRefusal<R extends Refusal | null>(
  { limitUncounted, isUnavailable }: RequestHandlerPorts,
  uncounted: UnmatchedRequest | Call,
  refusal: R,
  limit = limitUncounted,
): Promise<R | Refusal> {
  // A reset socket has no address, so no limit applies.
  if (uncounted.peer === '') return refusal
  try {
    await limit(uncounted)
    return refusal
  } catch (error) {
    return toRefusal(error, isUnavailable)
  }
}

/** `limitUncounted` has resolved the client address. */
function toUnmatchedFacts({ method = '' }: IncomingMessage, { clientIp, headers }: UnmatchedRequest) {
  return {
    method,
    clientIp,
    userAgent: readUserAgent(headers),
  }
}

interface FailedRequest {
  context: RefusalContext
  requestId: string
  refusal: Refusal
}

/** Returns the refusal that was sent. */
function sendRefusal(
  ports: RequestHandlerPorts,
  request: IncomingMessage,
  response: ServerResponse,
  { context, requestId, refusal }: FailedRequest,
): Refusal {
  // A client that sent its body too slowly gets no additional time.
  if (refusal.code === 'REQUEST.TIMEOUT' && hasUnreadBody(request)) closeAfterResponse(request, response)
  else closeIfBodyUnread(request, response)
  const { responses } = ports
  try {
    responses.write(response, requestId, responses.renderRefusal(refusal, context))
    return refusal
  } catch (error) {
    // Node rejects a header of the refusal.
    const fault = toRefusal(error, ports.isUnavailable)
    responses.write(response, requestId, responses.renderRefusal(fault, context))
    return fault
  }
}

/** Ends what no one has taken over. Streams and sockets that have ended ignore this. */
function releaseReply({ reply, relay }: Call): void {
  if (reply instanceof StreamReply) reply.body.destroy()
  else if (relay) relay.release()
  else if (reply instanceof SocketReply) reply.channel.destroy()
}

function isSocketUrl({ router }: RequestHandlerPorts, request: IncomingMessage): boolean {
  try {
    return router('GET', splitUrl(request.url ?? '').path).operation.reply === 'socket'
  } catch {
    return false
  }
}

/** After a refusal, the connection is closed. */
function handleUpgrade(ports: RequestHandlerPorts, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const response = new ServerResponse(request)
  try {
    response.assignSocket(socket)
  } catch {
    // An earlier request has no response yet. No WebSocket client sends a handshake then.
    socket.destroy()
    return
  }
  closeAfterResponse(request, response)
  const client = watchDisconnect(socket)
  response.once('finish', () => closeGently(socket))
  void handleRequest(ports, request, response, { socket, head, client })
}

function isChainUrl(url: string): boolean {
  return url.startsWith('/web/') || url.startsWith('/api/')
}

/** Pages share the address limit of operations. Returns false after a refusal. */
async function admitToPage(
  ports: RequestHandlerPorts,
  request: IncomingMessage,
  response: ServerResponse,
  limit = ports.limitUncounted,
): Promise<boolean> {
  const context = toUnmatched(ports, request)
  const refusal = await limitRefusal(ports, context, null, limit)
  if (refusal) sendRefusal(ports, request, response, { context, requestId: requestIdOf(request, ports.ids), refusal })
  return refusal === null
}
