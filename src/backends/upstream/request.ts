import type { Call } from '../../gateway/pipeline/call.ts'
import { chains, type Operation, Refusal } from '../../kernel/index.ts'
import { conditionalHeader } from '../backend.ts'

interface PathTemplate {
  /** The text between the parameters. There is one more than there are parameters. */
  literals: string[]
  names: string[]
}

const templates = new WeakMap<Operation, PathTemplate>()

/** Returns the template of the operation's path on its first chain, parsed once per operation. */
const templateOf = (operation: Operation): PathTemplate => {
  const cached = templates.get(operation)
  if (cached) return cached
  const parts = (chains[operation.chains[0]].prefix + operation.path).split(/\{(\w+)\}/)
  const [literals, names] = [parts.filter((_, at) => at % 2 === 0), parts.filter((_, at) => at % 2 === 1)]
  const template = { literals, names }
  templates.set(operation, template)
  return template
}

/**
 * Matches dot segments, separators, percent signs and control characters. A proxy could decode them and request another
 * path.
 */
const unsafeSegment = /^\.{0,2}$|[/\\%\p{Cc}]/u

/** Encodes a path parameter. The pipeline has validated it, so an unsafe one is an error in the contract. */
const encodeSegment = (name: string, value = ''): string => {
  if (unsafeSegment.test(value))
    throw new Refusal('SYSTEM.INTERNAL_ERROR', { internal: `unsafe path parameter ${name}` })
  return encodeURIComponent(value)
}

/**
 * Returns the path and query for an upstream. They use the operation's first chain, regardless of the client's chain.
 */
const buildPath = ({ operation, params, input }: Call): string => {
  const { literals, names } = templateOf(operation)
  let path = literals[0] ?? ''
  for (const [at, name] of names.entries()) path += encodeSegment(name, params[name]) + (literals[at + 1] ?? '')
  const query = Object.entries(input.query ?? {}).filter(([, value]) => value !== undefined)
  if (query.length === 0) return path
  return `${path}?${new URLSearchParams(query.map(([name, value]) => [name, String(value)]))}`
}

/** Returns the headers of every upstream request. Headers of the client that are not listed here are not forwarded. */
const buildHeaders = (call: Call, assertion: string): Record<string, string> => {
  const headers: Record<string, string> = {
    accept: 'application/json',
    authorization: `Bearer ${assertion}`,
    'x-request-id': call.requestId,
    'x-locale': call.locale,
    'x-client-ip': call.clientIp,
    'x-client-country': call.country,
    'x-client-user-agent': encodeURIComponent(call.userAgent),
  }
  if (call.trace?.traceparent) headers.traceparent = call.trace.traceparent
  if (call.trace?.tracestate) headers.tracestate = call.trace.tracestate
  return headers
}

const conditionalNames = ['if-none-match', 'if-range', 'range'] as const

/**
 * Limits the head of a request to 16 KB. If an upstream rejected a larger one, it would count as failed for all
 * callers. A longer header is dropped together with those after it, because a range without its condition could be
 * wrong.
 */
const maxConditionalLength = 2_048

const conditionalHeaders = (call: Call): Record<string, string> => {
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

/**
 * Returns the head of a streamed request: the common headers and those that describe the bytes. The body is the
 * client's.
 */
export function buildStreamRequest(call: Call, assertion: string) {
  const headers: Record<string, string> = { ...buildHeaders(call, assertion), accept: '*/*' }
  if (call.upload) {
    headers['content-type'] = call.upload.contentType
    const length = call.headers.optional('content-length')
    if (length !== undefined) headers['content-length'] = length
  } else Object.assign(headers, conditionalHeaders(call))
  return { method: call.operation.method, path: buildPath(call), headers }
}

/** Returns a buffered request, built from validated input and never from the client's bytes. */
export function buildRequest(call: Call, assertion: string) {
  const headers = buildHeaders(call, assertion)
  const body = call.input.body === null || call.input.body === undefined ? null : JSON.stringify(call.input.body)
  if (body !== null) headers['content-type'] = 'application/json'
  return { method: call.operation.method, path: buildPath(call), headers, body }
}
