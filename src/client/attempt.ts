import { anySignal, attemptTimeout } from './abort.ts'
import type { Channel } from './channel/index.ts'
import { type SealedRequest, sealRequest } from './channel/sealed-request.ts'
import { readEnvelope, readJson } from './envelope.ts'
import { PorticoError } from './errors.ts'
import { buildHeaders } from './headers.ts'
import type { Answer, AnyArgs } from './operation-types.ts'
import type { Settings } from './options.ts'
import { buildPath, buildQuery, type Route } from './routes.ts'
import type { Transport, WireRequest } from './transport.ts'

/** One try of a call: all that may change from one try to the next stands here. */
export interface Attempt {
  route: Route
  args: AnyArgs
  requestId: string
  clientHash: string | null
  accessToken: string | null
  channel: Channel | null
}

export interface Prepared {
  request: WireRequest
  /** Below the base URL, with its query. */
  target: string
  open: SealedRequest['open']
  /** Whether its time is up. What the request then ends with differs among browsers. */
  isLate(): boolean
}

const bodyOf = (body: unknown): string | FormData | null => {
  if (body === undefined) return null
  return body instanceof FormData ? body : JSON.stringify(body)
}

/** The request of an attempt, sealed where it has a channel. */
export const buildRequest = async (settings: Settings, attempt: Attempt): Promise<Prepared> => {
  const { route, args, channel } = attempt
  const { method } = route.operation
  const path = buildPath(route, args.params)
  const target = path + buildQuery(args.query)
  const sealed = await sealRequest(channel, method, path, bodyOf(args.body))
  const limit = attemptTimeout(route.operation, settings.timeoutMs)
  const request = {
    method,
    url: settings.baseUrl + target,
    headers: { ...buildHeaders(settings, attempt), ...sealed.headers },
    body: sealed.body,
    signal: anySignal(args.signal, limit),
    onProgress: args.onProgress,
  }
  return { request, target, open: sealed.open, isLate: () => limit?.aborted === true }
}

/** A request without an answer, as an error. A caller's own abort has ended the call before (giving-up.ts). */
const lost = (cause: unknown, requestId: string, late: boolean): PorticoError => {
  const message = late ? 'no answer came in time' : 'no answer came'
  return new PorticoError({ status: 0, code: late ? 'CLIENT.TIMEOUT' : 'CLIENT.NETWORK', message, requestId, cause })
}

const unusable = (requestId: string, status: number, message: string, cause: unknown): PorticoError =>
  new PorticoError({ status, code: 'CLIENT.INVALID_REPLY', message, requestId, cause })

/** A download is an attachment (completions.md, Files and exports), but for the news that there is none; a proxy's page is not. */
const isDownload = ({ status, headers }: Response): boolean =>
  status === 304 || (status < 300 && /^attachment\b/i.test(headers.get('content-disposition') ?? ''))

/** Sends one attempt and yields its reply: opened, and checked against the operation's schema. */
export const createExchange = (settings: Settings, transport: Transport) => {
  const send = async ({ request, isLate }: Prepared, attempt: Attempt) => {
    const isStream = attempt.route.operation.reply === 'stream'
    try {
      const response = await transport(request)
      const bytes = isStream && isDownload(response)
      return { response, bytes, json: bytes ? null : await readJson(response) }
    } catch (error) {
      throw lost(error, attempt.requestId, isLate())
    }
  }

  return async (attempt: Attempt): Promise<Answer<unknown>> => {
    const { route, args, requestId } = attempt
    const { id: operationId, reply } = route.operation
    const prepared = await buildRequest(settings, attempt)
    const { request, target, open } = prepared
    const { response, bytes, json } = await send(prepared, attempt)
    const { status } = response
    const tell = (shown: unknown): void => {
      const facts = { operationId, requestId, method: request.method, path: target, sealed: attempt.channel !== null }
      settings.onExchange({ ...facts, request: args.body ?? null, status, reply: shown })
    }
    if (bytes) {
      tell(null)
      return { data: response, timestamp: null }
    }
    if (!response.ok) tell(json)
    const frame = readEnvelope(response, json, requestId)
    const data = await open(frame.data).catch((cause: unknown) => {
      throw unusable(requestId, status, 'the sealed reply does not open', cause)
    })
    tell({ ...frame.envelope, data })
    const checked = reply === 'stream' ? undefined : reply.safeParse(data)
    if (checked?.success) return { data: checked.data, timestamp: frame.timestamp }
    throw unusable(requestId, status, `the reply is not one of ${operationId}`, checked?.error)
  }
}
