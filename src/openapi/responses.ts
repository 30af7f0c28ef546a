import { hash } from 'node:crypto'
import * as z from 'zod'
import type { Catalogue } from '../contract/index.ts'
import { observedErrors } from '../contract/observed-errors.ts'
import { listRefusals } from '../contract/policies.ts'

import { type ChainId, type Code, chains, type Operation, type PassThroughReply } from '../kernel/index.ts'
import type { Example } from './examples.ts'
import { type Json, type JsonObject, reference } from './json.ts'

export const responseHeaderComponents: Record<string, JsonObject> = {
  RequestId: { description: 'The request id.', schema: { type: 'string' } },
  IdempotencyKey: {
    description: 'The key of the request, if it had one: this key identifies the command, and not `X-Request-Id`.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'Remaining quota of the tightest limit, or of the one that rejected the request (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string', examples: ['"general-account";r=599;t=60'] },
  },
  RateLimitPolicy: {
    description: 'The tightest limit, or the one that rejected the request.',
    schema: { type: 'string', examples: ['"general-account";q=600;w=60'] },
  },
  WwwAuthenticate: {
    description: 'The required scheme: a bearer token (RFC 6750).',
    schema: { type: 'string', examples: ['Bearer'] },
  },
  RetryAfter: { description: 'Seconds to wait before a retry.', schema: { type: 'integer' } },
  TotalEstimated: {
    description:
      '`true` if `totalRecords` and `totalPages` are estimates. Totals up to 10,000 are exact, and the response has no such header.',
    schema: { type: 'string', enum: ['true'] },
  },
  ETag: { description: 'Version of the file.', schema: { type: 'string' } },
  ContentDisposition: { description: 'Always an attachment, with the file name.', schema: { type: 'string' } },
  ContentRange: { description: 'Range of these bytes and size of the file.', schema: { type: 'string' } },
  AcceptRanges: { description: '`bytes`: range requests are supported.', schema: { type: 'string' } },
}

const commonHeaders = {
  'X-Request-Id': 'RequestId',
  RateLimit: 'RateLimit',
  'RateLimit-Policy': 'RateLimitPolicy',
}

const versionHeaders = { ETag: 'ETag', 'Accept-Ranges': 'AcceptRanges' }
const fileHeaders = { ...versionHeaders, 'Content-Disposition': 'ContentDisposition' }

const bytes: JsonObject = { type: 'string', format: 'binary' }

/** Returns the successful responses of an operation. `envelope` refers to the schema of a JSON response. */
export function toSuccessResponses(
  operation: Operation,
  envelope: () => JsonObject,
  { reply }: Example,
): Record<string, JsonObject> {
  const examples: JsonObject = reply === undefined ? {} : { examples: { recorded: { value: reply } } }
  if (operation.reply === 'stream') return streamResponses(examples)
  if (typeof operation.reply === 'string') return passThroughResponses(operation.reply)
  return {
    200: {
      description: 'Success.',
      ...responseHeaders({
        ...(isPage(operation) && { 'X-Total-Estimated': 'TotalEstimated' }),
        ...(operation.policy.idempotent && { 'Idempotency-Key': 'IdempotencyKey' }),
      }),
      content: { 'application/json': { schema: envelope(), ...examples } },
    },
  }
}

export type Sentence = (code: Code) => string

export interface RefusalResponses {
  /** Returns references to components, by status. */
  of(operation: Operation, chainId: ChainId): Record<string, JsonObject>
  /** Components referenced so far. */
  components: Record<string, JsonObject>
}

const observedNotes = {
  'no-query': 'Also the documented response to a call without query parameters.',
  'no-channel-session': 'Also the documented response to a call without a session.',
} as const

export function createRefusalResponses(
  catalogue: Catalogue,
  sentence: Sentence,
  recorded: ReadonlyMap<string, Json>,
): RefusalResponses {
  const { numericCode, statusOf } = catalogue
  const components: Record<string, JsonObject> = {}

  const examplesOf = (names: readonly string[]): JsonObject => {
    const found = names.flatMap((name) => {
      const value = recorded.get(name)
      return value === undefined ? [] : [[name, { value }] as const]
    })
    return found.length === 0 ? {} : { examples: Object.fromEntries(found) }
  }

  const toResponse = (status: string, codes: readonly Code[], self: boolean, note: string): JsonObject => ({
    description: [...codes.map((code) => `\`${self ? numericCode(code) : code}\`: ${sentence(code)}.`), note]
      .filter(Boolean)
      .join('\n\n'),
    ...responseHeaders(Object.fromEntries(codes.flatMap((code) => Object.entries(headersOf(catalogue, code))))),
    content: {
      'application/json': {
        schema: reference('schemas', 'Refusal'),
        ...examplesOf(self ? [`${status}0`] : codes),
      },
    },
    'x-portico': { codes: self ? [`${status}0`] : [...codes] },
  })

  return {
    components,
    of: (operation, chainId) => {
      const byStatus = new Map<string, Code[]>()
      for (const code of listRefusals(operation, chainId)) {
        const status = String(statusOf(code))
        byStatus.set(status, [...(byStatus.get(status) ?? []), code])
      }
      const condition = chains[chainId].perimeter === 'portal' ? observedErrors.get(operation.id) : undefined
      return Object.fromEntries(
        [...byStatus].map(([status, codes]) => {
          const note = condition && codes.includes(condition.code) ? observedNotes[condition.condition] : ''
          const parts = [chainId === 'self' ? 'self' : '', ...codes, note === '' ? '' : (condition?.condition ?? '')]
          const name = toComponentName(status, parts)
          components[name] ??= toResponse(status, codes, chainId === 'self', note)
          return [status, reference('responses', name)]
        }),
      )
    },
  }
}

/**
 * A list of up to ten codes is too long for the name of a type. The digest of the codes stays the same when others are
 * added to the document.
 */
function toComponentName(status: string, parts: readonly string[]): string {
  return `Refused${status}${hash('sha256', parts.join(' '), 'hex').slice(0, 4).toUpperCase()}`
}

function streamResponses(examples: JsonObject): Record<string, JsonObject> {
  return {
    200: { description: 'The file.', ...responseHeaders(fileHeaders), content: toBinaryContent(examples) },
    206: {
      description: 'The requested range of the file.',
      ...responseHeaders({ ...fileHeaders, 'Content-Range': 'ContentRange' }),
      content: toBinaryContent(),
    },
    304: { description: 'Not modified: the caller’s copy is current.', ...responseHeaders(versionHeaders) },
  }
}

function responseHeaders(more: Record<string, string> = {}): JsonObject {
  return toHeaders({ ...commonHeaders, ...more })
}

function toHeaders(names: Record<string, string>): JsonObject {
  return {
    headers: Object.fromEntries(
      Object.entries(names).map(([header, component]) => [header, reference('headers', component)]),
    ),
  }
}

/** Some generators know the first type only, and get no bytes for a wildcard. */
function toBinaryContent(examples: JsonObject = {}): JsonObject {
  return {
    'application/octet-stream': { schema: bytes },
    '*/*': { schema: bytes, ...examples },
  }
}

function passThroughResponses(reply: PassThroughReply): Record<string, JsonObject> {
  if (reply === 'socket') return { 101: { description: 'A WebSocket connection (RFC 6455).', ...responseHeaders() } }
  if (reply === 'raw')
    return { '2XX': { description: 'The response of the service.', ...responseHeaders(), content: toBinaryContent() } }
  const content = { 'text/event-stream': { schema: { type: 'string' } } }
  return { 200: { description: 'A stream of server-sent events.', ...responseHeaders(), content } }
}

function isPage({ reply }: Operation): boolean {
  return reply instanceof z.ZodObject && 'pagination' in reply.shape
}

function headersOf({ statusOf }: Catalogue, code: Code): Record<string, string> {
  if (code === 'FILE.RANGE_NOT_SATISFIABLE') return { 'Content-Range': 'ContentRange' }
  if (statusOf(code) === 401) return { 'WWW-Authenticate': 'WwwAuthenticate' }
  const hasRetryAfter = code === 'ACCESS.RATE_LIMITED' || code === 'REQUEST.IN_PROGRESS' || statusOf(code) === 503
  return hasRetryAfter ? { 'Retry-After': 'RetryAfter' } : {}
}
