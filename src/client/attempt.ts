import { anySignal, attemptTimeout } from './abort.ts'
import type { Channel } from './channel/channel.ts'
import { type SealedRequest, sealRequest } from './channel/sealed-request.ts'
import { readEnvelope, readJson } from './envelope.ts'
import { PorticoError } from './errors.ts'
import { buildHeaders } from './headers.ts'
import type { Answer, AnyArgs } from './operation-types.ts'
import type { Settings } from './options.ts'
import { buildPath, buildQuery, type Route } from './routes.ts'
import type { Transport, WireRequest } from './transport.ts'

/** One attempt of a call, with everything that can change between attempts. */
export interface Attempt {
  route: Route
  args: AnyArgs
  requestId: string
  clientHash: string | null
  accessToken: string | null
  channel: Channel | null
}

interface PreparedRequest {
  request: WireRequest
  /** Path and query below the base URL. */
  target: string
  open: SealedRequest['open']
  /** Whether the timeout has passed. Browsers use different errors for an aborted request. */
  hasTimedOut(): boolean
}

interface AttemptPorts {
  settings: Settings
  transport: Transport
}

const serializeBody = (body: unknown): string | FormData | null => {
  if (body === undefined) return null
  return body instanceof FormData ? body : JSON.stringify(body)
}

const buildRequest = async (settings: Settings, attempt: Attempt): Promise<PreparedRequest> => {
  const { route, args, channel } = attempt
  const { method } = route.operation
  const path = buildPath(route, args.params)
  const target = path + buildQuery(args.query)
  const sealed = await sealRequest(channel, method, path, serializeBody(args.body))
  const timeout = attemptTimeout(route.operation, settings.timeoutMs)
  const request = {
    method,
    url: settings.baseUrl + target,
    headers: { ...buildHeaders(settings, attempt), ...sealed.headers },
    body: sealed.body,
    signal: anySignal(args.signal, timeout),
    onProgress: args.onProgress,
  }
  return { request, target, open: sealed.open, hasTimedOut: () => timeout?.aborted === true }
}

/**
 * Returns the error of a request without a response. If the caller aborted the call, `withAbort` has rejected it
 * already.
 */
const noResponse = (cause: unknown, requestId: string, timedOut: boolean): PorticoError => {
  const message = timedOut ? 'no response before the timeout' : 'no response'
  return new PorticoError({
    status: 0,
    code: timedOut ? 'CLIENT.TIMEOUT' : 'CLIENT.NETWORK',
    message,
    requestId,
    cause,
  })
}

const invalidReply = (requestId: string, status: number, message: string, cause: unknown): PorticoError =>
  new PorticoError({ status, code: 'CLIENT.INVALID_REPLY', message, requestId, cause })

/**
 * Whether the response of a stream operation contains its bytes: an attachment or a 304, and not the page of a proxy.
 */
const isDownload = ({ status, headers }: Response): boolean =>
  status === 304 || (status < 300 && /^attachment\b/i.test(headers.get('content-disposition') ?? ''))

const send = async (transport: Transport, { request, hasTimedOut }: PreparedRequest, attempt: Attempt) => {
  const isStream = attempt.route.operation.reply === 'stream'
  try {
    const response = await transport(request)
    const isBytes = isStream && isDownload(response)
    return { response, isBytes, json: isBytes ? null : await readJson(response) }
  } catch (error) {
    throw noResponse(error, attempt.requestId, hasTimedOut())
  }
}

/** Sends one attempt and returns its reply, decrypted and validated by the operation's schema. */
export const sendAttempt = async (
  { settings, transport }: AttemptPorts,
  attempt: Attempt,
): Promise<Answer<unknown>> => {
  const { route, args, requestId } = attempt
  const { id: operationId, reply } = route.operation
  const prepared = await buildRequest(settings, attempt)
  const { request, target, open } = prepared
  const { response, isBytes, json } = await send(transport, prepared, attempt)
  const { status } = response
  const report = (envelope: unknown): void => {
    const facts = { operationId, requestId, method: request.method, path: target, sealed: attempt.channel !== null }
    settings.onExchange({ ...facts, request: args.body ?? null, status, reply: envelope })
  }
  if (isBytes) {
    report(null)
    return { data: response, timestamp: null }
  }
  if (!response.ok) report(json)
  const envelope = readEnvelope(response, json, requestId)
  const data = await open(envelope.data).catch((cause: unknown) => {
    throw invalidReply(requestId, status, 'the sealed reply cannot be decrypted', cause)
  })
  report({ ...envelope.json, data })
  const parsed = reply === 'stream' ? undefined : reply.safeParse(data)
  if (parsed?.success) return { data: parsed.data, timestamp: envelope.timestamp }
  throw invalidReply(requestId, status, `the reply does not match the schema of ${operationId}`, parsed?.error)
}
