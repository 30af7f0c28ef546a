import type { ServerResponse } from 'node:http'
import { formatIdempotencyKey, hooksHeader } from '../../contract/header-values.ts'
import type { Catalogue } from '../../contract/index.ts'
import type { SealedReply } from '../../contract/policies.ts'
import { scimError, scimType } from '../../contract/scim/error.ts'
import {
  type ChainId,
  type Clock,
  chains,
  failureEnvelope,
  formatInvalidFields,
  type Instant,
  isPassThrough,
  isRecord,
  Refusal,
  type StreamReply,
  successEnvelope,
  thrownMessage,
  type Words,
  wholeSeconds,
} from '../../kernel/index.ts'
import type { Call } from '../pipeline/call.ts'
import type { SessionCookies } from '../pipeline/session-cookie.ts'
import { type DownloadPace, sendStreamBody } from './stream-body.ts'

type HeaderRecord = Record<string, string>

export interface EnvelopeResponse {
  status: number
  /** Names and values, alternating. */
  headers: readonly string[]
  body: string
  /** Default: JSON. */
  type?: string
}

/** The properties have defaults if no operation was matched. */
export type RefusalContext = Pick<Call, 'chainId' | 'locale' | 'limit' | 'idempotencyKey'> &
  Partial<Pick<Call, 'operation'>> & {
    /** Whether the path is one of SCIM, although no operation was matched. */
    isScim?: boolean
  }

export interface ResponseWriter {
  /** `data` is JSON text. */
  renderSuccess(call: Call, data: string): EnvelopeResponse
  renderRefusal(refusal: Refusal, context: RefusalContext): EnvelopeResponse
  write(response: ServerResponse, requestId: string, rendered: EnvelopeResponse): void
  writeStream(response: ServerResponse, call: Call, reply: StreamReply): Promise<void>
}

export interface ResponseWriterPorts {
  clock: Clock
  words: Words
  catalogue: Pick<Catalogue, 'numericCode' | 'statusOf'>
  /** Null in a domain service. */
  cookies: Pick<SessionCookies, 'format'> | null
  securityHeaders: HeaderRecord
  /** Whether an envelope names the field, and a header the hooks, for a gateway that calls this service. */
  includesField: boolean
  /** Whether refusals name the failed check in `X-Portico-Hint`. Only for the development profile. */
  includesHint?: boolean
  /** Null means no limit. */
  downloadPace: DownloadPace | null
}

/** For refusals without a detail. */
const headerHints: ReadonlyMap<string, string> = new Map([
  ['ACCESS.PORTAL_MISMATCH', 'header x-portal-access-code is missing or belongs to another portal'],
  ['ACCESS.TOKEN_MISSING', 'header authorization is missing'],
])

/** For an edge that allows other origins itself, and does not know the header. */
const exposedFields: readonly string[] = ['access-control-expose-headers', 'X-Portico-Fields']

export function createResponseWriter(ports: ResponseWriterPorts): ResponseWriter {
  // Node writes a flat list of names and values without processing it again.
  const jsonHeaders = flatten({ ...ports.securityHeaders, 'content-type': 'application/json; charset=utf-8' })
  const scimHeaders = flatten({ ...ports.securityHeaders, 'content-type': scimType })
  const streamHeaders = flatten(ports.securityHeaders)
  const embeddedHeaders = flatten({ ...ports.securityHeaders, 'cross-origin-resource-policy': 'cross-origin' })
  return {
    renderSuccess: (call, data) => renderSuccess(ports, call, data),
    renderRefusal: (refusal, context) => renderRefusal(ports, refusal, context),
    write: (response, requestId, { status, headers, body, type }) => {
      const length = Buffer.byteLength(body)
      // The headers of `createCors` expose more.
      const hasCors = response.hasHeader('access-control-allow-origin')
      const sent = hasCors ? headers.filter((text) => !exposedFields.includes(text)) : headers
      const all = (type === undefined ? jsonHeaders : scimHeaders).concat(sent)
      all.push('x-request-id', requestId)
      // RFC 9110, 8.6: a 204 has no length.
      if (status !== 204) all.push('content-length', String(length))
      // ASCII is the same in latin1 and UTF-8, and latin1 is faster to write.
      response.writeHead(status, all).end(body, length === body.length ? 'latin1' : 'utf8')
    },
    writeStream: async (response, call, reply) => {
      const { 'content-length': announced, ...others } = reply.headers
      // RFC 9110, 8.6 and 15.3.5. Nor is a length compared with a body that must not follow.
      const length = reply.status === 204 || reply.status === 304 ? undefined : announced
      // Node decodes a Content-Disposition after the length as UTF-8, and then rejects characters that are not Latin-1.
      const own = [...flatten(others), ...(length === undefined ? [] : ['content-length', length])]
      own.push('x-request-id', call.requestId)
      const common = isEmbedded(call) ? embeddedHeaders : streamHeaders
      response.writeHead(reply.status, common.concat(rateLimitHeaders(call.limit), keyHeader(call), own))
      if (call.method === 'HEAD') {
        reply.body.destroy()
        response.end()
        return
      }
      // The first event can be far away, and the client waits for the head. `flushHeaders` would encode it as UTF-8.
      if (isPassThrough(call.operation)) response.write('', 'latin1')
      try {
        await sendStreamBody(reply.body, length, response, ports.downloadPace)
      } catch (error) {
        if (!isDisconnect(call, error)) throw error
      }
    },
  }
}

function renderSuccess(
  { clock, cookies, includesField }: ResponseWriterPorts,
  call: Call,
  data: string,
): EnvelopeResponse {
  const sealed: SealedReply | null = call.sealReply && { payload: call.sealReply(data) }
  const content = sealed ? JSON.stringify(sealed) : data
  const headers = rateLimitHeaders(call.limit)
  headers.push(...keyHeader(call), ...cookieHeader(cookies, call))
  if (includesField && call.operation.before) headers.push(hooksHeader, call.operation.before.join(','))
  if (call.isTotalEstimated) headers.push('x-total-estimated', 'true')
  // A service sends the envelope to its gateway.
  if (call.operation.protocol === 'scim' && !includesField) return renderScim(call, data, headers)
  return {
    status: 200,
    headers,
    body: successEnvelope(call.chain.envelope, clock.now(), content),
  }
}

/** RFC 7644, 3.3: the response to a creation has the address of the resource. */
function renderScim({ method, operation, chain }: Call, data: string, headers: string[]): EnvelopeResponse {
  if (data === 'null') return { status: 204, headers, body: '', type: scimType }
  if (method !== 'POST') return { status: 200, headers, body: data, type: scimType }
  const resource: unknown = JSON.parse(data)
  const id = isRecord(resource) ? String(resource.id) : ''
  const location = `${chain.prefix}${operation.path}/${id}`
  return { status: 201, headers: [...headers, 'location', location], body: data, type: scimType }
}

/**
 * draft-ietf-httpapi-ratelimit-headers. Describes the limit that rejects the request, or else the one that is closest
 * to being exceeded.
 */
function rateLimitHeaders(spent: Call['limit']): string[] {
  if (!spent) return []
  const { name, limit, windowMs, remaining, resetMs } = spent
  const policy = `"${name}";q=${limit};w=${Math.round(windowMs / 1000)}`
  return ['ratelimit-policy', policy, 'ratelimit', `"${name}";r=${remaining};t=${wholeSeconds(resetMs)}`]
}

/** Sign-outs of sessions that have tokens delete no cookie. */
function cookieHeader(
  cookies: ResponseWriterPorts['cookies'],
  { portal, sessionCookie: value, hasSessionCookie }: Call,
): string[] {
  if (!cookies || portal === null || value === undefined || (value === null && !hasSessionCookie)) return []
  return ['set-cookie', cookies.format(portal, value)]
}

/** Shows the client that this key, and not X-Request-Id, identifies its command. */
function keyHeader({ idempotencyKey }: RefusalContext): string[] {
  return idempotencyKey === null ? [] : ['idempotency-key', formatIdempotencyKey(idempotencyKey)]
}

function renderRefusal(
  { clock, words, catalogue, includesField, includesHint }: ResponseWriterPorts,
  refusal: Refusal,
  context: RefusalContext,
): EnvelopeResponse {
  const { chainId, locale, limit } = context
  const status = catalogue.statusOf(refusal.code)
  const { field, accepts, retryAfter, headers: extra, limit: refusing } = refusal.detail
  // The self chain uses the same message for every 401.
  const messageCode = chainId === 'self' && status === 401 ? 'ACCESS.TOKEN_INVALID' : refusal.code
  const types = accepts?.join(', ')
  const message = words.refusal(messageCode, locale, field && types ? `${field} (${types})` : field)
  const limits = rateLimitHeaders(refusing ? { ...refusing, remaining: 0 } : limit)
  const headers = [...limits, ...keyHeader(context), ...flatten(extra ?? {})]
  headers.push(...fieldHeaders(refusal))
  // RFC 9110, 12.5.1.
  if (types !== undefined) headers.push('accept', types)
  // Handlers can omit it.
  const wait = retryAfter ?? (status === 429 || status === 503 ? 1 : undefined)
  if (wait !== undefined) headers.push('retry-after', String(wait))
  const hint = includesHint ? hintOf(refusal) : ''
  if (hint !== '') headers.push('x-portico-hint', hint)
  // RFC 9110, 15.5.2 requires a challenge. For Bearer, browsers show no password prompt.
  if (status === 401) headers.push('www-authenticate', 'Bearer')
  if ((context.isScim || context.operation?.protocol === 'scim') && !includesField)
    return { status, headers, body: JSON.stringify(scimError(refusal.code, status, message)), type: scimType }
  const body = refusalBody(catalogue, chainId, refusal, clock.now(), message, includesField ? field : undefined)
  return { status, headers, body }
}

function flatten(headers: HeaderRecord): string[] {
  return Object.entries(headers).flat()
}

function fieldHeaders({ code, detail: { field, fields } }: Refusal): string[] {
  if (code !== 'VALIDATION.INVALID_PARAMETER' || field === undefined) return []
  const listed = formatInvalidFields(fields ?? [{ name: field, reason: 'invalid' }])
  return listed === '' ? [] : ['x-portico-fields', listed, ...exposedFields]
}

/** The detail can quote a request, and a header cannot contain every character. */
function hintOf(refusal: Refusal): string {
  const { internal, field } = refusal.detail
  const hint = thrownMessage(refusal) ?? internal ?? headerHints.get(refusal.code) ?? field ?? ''
  return hint.replace(/[^\x20-\x7e]/g, '?').slice(0, 200)
}

function refusalBody(
  catalogue: ResponseWriterPorts['catalogue'],
  chainId: ChainId,
  refusal: Refusal,
  at: Instant,
  message: string,
  field?: string,
): string {
  const { envelope } = chains[chainId]
  if (chainId !== 'self') return failureEnvelope(envelope, at, refusal.code, message, field)
  const code = catalogue.numericCode(refusal.code)
  return catalogue.statusOf(refusal.code) === 401
    ? JSON.stringify({ success: false, code, message })
    : failureEnvelope(envelope, at, code, message)
}

/**
 * Whether a page of a listed origin shows the image of a ticket. The header permits only this response, to the page that has
 * the ticket. Browsers do not count IP addresses and ports as one site, so `same-site` would not do in development.
 */
function isEmbedded({ ticket, headers }: Call): boolean {
  return ticket !== null && headers.optional('sec-fetch-site') !== 'same-origin'
}

/** Clients end an event stream by closing the connection. */
function isDisconnect({ operation }: Call, error: unknown): boolean {
  return operation.reply === 'events' && error instanceof Refusal && error.code === 'REQUEST.MALFORMED'
}
