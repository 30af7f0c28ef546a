import { formatIdempotencyKey, hooksHeader } from '../../contract/header-values.ts'
import type { Call } from '../../gateway/pipeline/call.ts'
import { isUnsafeSegment } from '../../gateway/pipeline/paths.ts'
import type { Handshake } from '../../gateway/sockets/handshake.ts'
import { chains, type Operation, Refusal } from '../../kernel/index.ts'
import { conditionalHeader } from '../backend.ts'

interface PathTemplate {
  /** There is one more literal than there are parameters. */
  literals: string[]
  names: string[]
}

const templates = new WeakMap<Operation, PathTemplate>()

/** Uses the operation's first chain, regardless of the client's chain. */
export function buildPath({ operation, params, input }: Pick<Call, 'operation' | 'params' | 'input'>): string {
  const { literals, names } = templateOf(operation)
  let path = literals[0] ?? ''
  for (const [at, name] of names.entries()) path += encodeSegment(name, params[name]) + (literals[at + 1] ?? '')
  const query = Object.entries(input.query ?? {}).filter(([, value]) => value !== undefined)
  if (query.length === 0) return path
  return `${path}?${new URLSearchParams(query.map(([name, value]) => [name, String(value)]))}`
}

/** The parts of a call that a request to an upstream contains. */
export type ForwardedCall = Pick<
  Call,
  | 'operation'
  | 'params'
  | 'input'
  | 'requestId'
  | 'idempotency'
  | 'locale'
  | 'clientIp'
  | 'country'
  | 'userAgent'
  | 'trace'
>

/** Headers of the client that are not listed here are not forwarded. */
export function buildHeaders(call: ForwardedCall, assertion: string): Record<string, string> {
  const headers: Record<string, string> = {
    accept: 'application/json',
    authorization: `Bearer ${assertion}`,
    'x-request-id': call.requestId,
    'x-locale': call.locale,
    'x-client-ip': call.clientIp,
    'x-client-country': call.country,
    'x-client-user-agent': encodeURIComponent(call.userAgent),
  }
  if (call.operation.before) headers[hooksHeader] = call.operation.before.join(',')
  if (call.idempotency) headers['idempotency-key'] = formatIdempotencyKey(call.idempotency.key)
  if (call.trace?.traceparent) headers.traceparent = call.trace.traceparent
  if (call.trace?.tracestate) headers.tracestate = call.trace.tracestate
  return headers
}

const conditionalNames = ['if-none-match', 'if-range', 'range'] as const

/**
 * Longer headers are dropped together with those after them, because a range without its condition could be wrong. If
 * an upstream rejected a head above 16 KB, the breaker would count failures for all callers.
 */
const maxConditionalLength = 2_048

export function conditionalHeaders(call: Call): Record<string, string> {
  // The upstream gets a GET, because a refusal of HEAD has no body. A header states that the bytes can be omitted.
  const headers: Record<string, string> = call.headOnly ? { 'x-client-method': 'HEAD' } : {}
  for (const name of conditionalNames) {
    const value = conditionalHeader(call, name)
    if (value === undefined) continue
    if (value.length > maxConditionalLength) break
    headers[name] = value
  }
  return headers
}

/** The validated body, or null without one. */
export function jsonBody({ input }: Pick<Call, 'input'>): string | null {
  return input.body === null || input.body === undefined ? null : JSON.stringify(input.body)
}

export function jsonHeaders(json: string): Record<string, string> {
  return {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(json)),
  }
}

export function buildStreamRequest(call: Call, assertion: string) {
  const headers: Record<string, string> = { ...buildHeaders(call, assertion), accept: '*/*' }
  const json = jsonBody(call)
  if (call.upload) {
    headers['content-type'] = call.upload.contentType
    const length = call.headers.optional('content-length')
    if (length !== undefined) headers['content-length'] = length
  } else Object.assign(headers, conditionalHeaders(call), json !== null && jsonHeaders(json))
  return { method: call.operation.method, path: buildPath(call), headers, json }
}

/** RFC 6455, section 4.1. Omits the headers that the client's subprotocols carry. */
export function buildSocketRequest(call: Call, { key, protocols, extensions }: Handshake, assertion: string) {
  const headers: Record<string, string> = {
    ...buildHeaders(call, assertion),
    accept: '*/*',
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': key,
  }
  if (protocols.length > 0) headers['sec-websocket-protocol'] = protocols.join(', ')
  if (extensions !== null) headers['sec-websocket-extensions'] = extensions
  return { method: call.operation.method, path: buildPath(call), headers }
}

/** Built from validated input, never from the client's bytes. */
export function buildRequest(call: ForwardedCall, assertion: string) {
  const headers = buildHeaders(call, assertion)
  const body = jsonBody(call)
  if (body !== null) headers['content-type'] = 'application/json'
  return { method: call.operation.method, path: buildPath(call), headers, body }
}

function templateOf(operation: Operation): PathTemplate {
  const cached = templates.get(operation)
  if (cached) return cached
  const parts = (chains[operation.chains[0]].prefix + operation.path).split(/\{(\w+)\}/)
  const [literals, names] = [parts.filter((_, at) => at % 2 === 0), parts.filter((_, at) => at % 2 === 1)]
  const template = { literals, names }
  templates.set(operation, template)
  return template
}

/** The pipeline rejects unsafe parameters. */
function encodeSegment(name: string, value = ''): string {
  if (value === '' || isUnsafeSegment(value))
    throw new Refusal('SYSTEM.INTERNAL_ERROR', { internal: `unsafe path parameter ${name}` })
  return encodeURIComponent(value)
}
