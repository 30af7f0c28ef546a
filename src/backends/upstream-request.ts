import type { Call } from '../gateway/call.ts'
import { chains, type Operation, Refusal } from '../kernel/index.ts'
import { fileCondition } from './file-condition.ts'

/** The pieces of a path between its parameters, and their names: what an upstream is asked by, once an operation. */
const templates = new WeakMap<Operation, { literals: string[]; names: string[] }>()

const templateOf = (operation: Operation) => {
  const known = templates.get(operation)
  if (known) return known
  const parts = (chains[operation.chains[0]].prefix + operation.path).split(/\{(\w+)\}/)
  const [literals, names] = [parts.filter((_, at) => at % 2 === 0), parts.filter((_, at) => at % 2 === 1)]
  const template = { literals, names }
  templates.set(operation, template)
  return template
}

/** Dot segments, separators, percent signs and control characters: a proxy may decode them and leave the path. */
const unsafeSegment = /^\.{0,2}$|[/\\%\p{Cc}]/u

/** Encodes a path parameter. The pipeline has validated it, so an unsafe one is a fault of the contract. */
const encodeSegment = (name: string, value = ''): string => {
  if (unsafeSegment.test(value))
    throw new Refusal('SYSTEM.INTERNAL_ERROR', { internal: `unsafe path parameter ${name}` })
  return encodeURIComponent(value)
}

/** Where an upstream finds an operation: its first chain's path, whichever chain the client came by. */
const pathOf = ({ operation, params, input }: Call): string => {
  const { literals, names } = templateOf(operation)
  let path = literals[0] ?? ''
  for (const [at, name] of names.entries()) path += encodeSegment(name, params[name]) + (literals[at + 1] ?? '')
  const given = Object.entries(input.query ?? {}).filter(([, value]) => value !== undefined)
  if (given.length === 0) return path
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

/** Every header that an upstream sees; nothing of the client's travels on that is not named here. */
const headersOf = (call: Call, assertion: string): Record<string, string> => {
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

/** What a stream's request says beside: its form going up, and what of the file is wanted coming down. */
const streamFields = ['if-none-match', 'if-range', 'range'] as const

/**
 * Beside what we say ourselves these have to fit into a head of 16 KB: an upstream that refuses one too large would count as broken,
 * for everybody. One that is longer is as good as not there, and a range with it: its condition may not hold.
 */
const longestStreamField = 2_048

const askedOfTheFile = (call: Call): Record<string, string> => {
  // It is read as with GET, for a refusal of HEAD has no words; the service is told that nobody gets the bytes.
  const asked: Record<string, string> = call.headOnly ? { 'x-client-method': 'HEAD' } : {}
  for (const name of streamFields) {
    const value = fileCondition(call, name)
    if (value === undefined) continue
    if (value.length > longestStreamField) break
    asked[name] = value
  }
  return asked
}

/**
 * The head of a streamed request: the same list, and the few fields that belong to the bytes themselves. The bytes are
 * the client's own, and the only thing of the client's that travels on unread.
 */
export const upstreamStreamHead = (call: Call, assertion: string) => {
  const headers: Record<string, string> = { ...headersOf(call, assertion), accept: '*/*' }
  if (call.upload) {
    headers['content-type'] = call.upload.contentType
    const length = call.headers.optional('content-length')
    if (length !== undefined) headers['content-length'] = length
  } else Object.assign(headers, askedOfTheFile(call))
  return { method: call.operation.method, path: pathOf(call), headers }
}

/** The request to an upstream, built from what the stages have checked and never from the client's bytes. */
export const upstreamRequest = (call: Call, assertion: string) => {
  const headers = headersOf(call, assertion)
  const body = call.input.body === null || call.input.body === undefined ? null : JSON.stringify(call.input.body)
  if (body !== null) headers['content-type'] = 'application/json'
  return { method: call.operation.method, path: pathOf(call), headers, body }
}
