import { observedErrors } from '../contract/observed-errors.ts'
import { anySignal, attemptTimeout } from './abort.ts'
import type { Channel, SealedRequest } from './channel/channel.ts'
import { readEnvelope, readJson } from './envelope.ts'
import { PorticoError } from './errors.ts'
import { buildHeaders, isKeyRead, isReplaced, replacedId } from './headers.ts'
import type { Answer, AnyArgs } from './operation-types.ts'
import type { Settings } from './options.ts'
import type { CallableOperation, WireRequest } from './portal/operation.ts'
import type { CommandIdentity } from './retry.ts'
import { buildPath, buildQuery, type Route } from './routes.ts'
import type { Transport } from './transport.ts'

/** The parts of a call that can change between attempts. */
export interface Attempt {
  route: Route
  args: AnyArgs
  requestId: string
  clientHash: string | null
  accessToken: string | null
  channel: Channel | null
}

interface AttemptPorts {
  settings: Settings
  transport: Transport
  identity: CommandIdentity
}

export async function sendAttempt(
  { settings, transport, identity }: AttemptPorts,
  attempt: Attempt,
): Promise<Answer<unknown>> {
  const { route, args, requestId } = attempt
  const { id: operationId, reply } = route.operation
  const prepared = await buildRequest(settings, attempt)
  const { request, target, open } = prepared
  const { response, isBytes, json } = await send(transport, prepared, attempt)
  const { status } = response
  identity.learn(request.headers, response)
  const report = (envelope: unknown): void => {
    const facts = { operationId, requestId, method: request.method, path: target, sealed: attempt.channel !== null }
    settings.onExchange({ ...facts, request: args.body ?? null, status, reply: envelope })
  }
  if (isBytes) {
    report(null)
    return { data: response, timestamp: null, isTotalEstimated: false }
  }
  if (!response.ok) report(json)
  // The gateway logs the key of a command, which its caller can repeat, unlike the id of a proxy.
  const loggedId = isKeyRead(request.headers, response) ? requestId : response.headers.get('x-request-id')
  const envelope = readEnvelope(response, json, loggedId ?? requestId)
  const data = await open(envelope.data).catch((cause: unknown) => {
    const reason = isReplaced(request.headers, response) ? `: ${replacedId}` : ''
    throw invalidReply(requestId, status, `the sealed reply cannot be decrypted${reason}`, cause)
  })
  report({ ...envelope.json, data })
  const parsed = typeof reply === 'string' ? undefined : reply.safeParse(data)
  const isTotalEstimated = response.headers.get('x-total-estimated') === 'true'
  if (parsed?.success) return { data: parsed.data, timestamp: envelope.timestamp, isTotalEstimated }
  throw invalidReply(requestId, status, `the reply does not match the schema of ${operationId}`, parsed?.error)
}

interface PreparedRequest {
  request: WireRequest
  /** Path and query below the base URL. */
  target: string
  open: SealedRequest['open']
  /** Browsers throw different errors for an aborted request, so the error does not show a timeout. */
  hasTimedOut(): boolean
}

async function buildRequest(settings: Settings, attempt: Attempt): Promise<PreparedRequest> {
  const { route, args, channel, requestId } = attempt
  const { method, reply } = route.operation
  const path = buildPath(route, args.params)
  const target = path + buildQuery(args.query ?? defaultQuery(route.operation))
  const body = serializeBody(route.operation.body, args.body)
  const sealed = channel ? await channel.sealRequest({ method, path, requestId, reply }, body) : unsealed(body)
  const timeout = attemptTimeout(route.operation, settings.timeoutMs)
  const request = {
    method,
    url: settings.baseUrl + target,
    headers: { ...buildHeaders(settings, attempt), ...sealed.headers },
    body: sealed.body,
    signal: anySignal(args.signal, timeout),
    onProgress: args.onProgress,
    upload: route.operation.upload,
  }
  return { request, target, open: sealed.open, hasTimedOut: () => timeout?.aborted === true }
}

function unsealed(body: SealedRequest['body']): SealedRequest {
  return { headers: {}, body, open: async (data) => data }
}

/** The interface documents the status 500 for this list without a query. */
function defaultQuery({ id }: CallableOperation): object {
  return observedErrors.get(id)?.condition === 'no-query' ? { currentPage: 1 } : {}
}

function serializeBody(kind: unknown, body: unknown): string | Blob | FormData | null {
  if (body === undefined) return null
  if (body instanceof FormData || body instanceof Blob || (kind === 'raw' && typeof body === 'string')) return body
  return JSON.stringify(body)
}

async function send(transport: Transport, { request, hasTimedOut }: PreparedRequest, attempt: Attempt) {
  try {
    const response = await transport(request)
    const isBytes = hasBytes(attempt.route.operation.reply, response)
    return { response, isBytes, json: isBytes ? null : await readJson(response) }
  } catch (error) {
    throw noResponse(error, attempt.requestId, hasTimedOut())
  }
}

/** Distinguishes an operation's bytes from a proxy's page. */
function hasBytes(reply: CallableOperation['reply'], { status, headers }: Response): boolean {
  if (typeof reply !== 'string') return false
  if (reply === 'events') return status === 200 && /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
  if (status === 304 || reply === 'raw') return status < 400
  return status < 300 && /^attachment\b/i.test(headers.get('content-disposition') ?? '')
}

/** If the caller aborted the call, `withAbort` has already rejected it. */
function noResponse(cause: unknown, requestId: string, timedOut: boolean): PorticoError {
  const message = timedOut ? 'no response before the timeout' : 'no response'
  return new PorticoError({
    status: 0,
    code: timedOut ? 'CLIENT.TIMEOUT' : 'CLIENT.NETWORK',
    message,
    requestId,
    cause,
  })
}

function invalidReply(requestId: string, status: number, message: string, cause: unknown): PorticoError {
  return new PorticoError({ status, code: 'CLIENT.INVALID_REPLY', message, requestId, cause })
}
