import { headers } from '../../contract/headers.ts'
import { locales, type Operation } from '../../kernel/index.ts'
import { type JsonObject, reference } from '../json.ts'

interface ServiceHeader {
  name: string
  description: string
  schema: JsonObject
  /** Whether a request to this operation can contain the header. */
  applies(operation: Operation): boolean
  required: boolean
}

const text: JsonObject = { type: 'string' }

/** The headers that src/backends/upstream/request.ts sends, without those that OpenAPI describes elsewhere. */
const serviceHeaders: Readonly<Record<string, ServiceHeader>> = {
  RequestId: {
    name: headers.requestId.name,
    description: 'Id of the request, for logs. A retry can have another one.',
    schema: schemaOf(headers.requestId.schema),
    applies: always,
    required: true,
  },
  IdempotencyKey: {
    name: headers.idempotencyKey.name,
    description: 'The idempotency key: a quoted RFC 9651 string. Compare it as it is.',
    schema: text,
    applies: ({ policy }) => policy.idempotent,
    required: true,
  },
  Locale: {
    name: 'X-Locale',
    description: 'Language of labels.',
    schema: { type: 'string', enum: [...locales] },
    applies: always,
    required: true,
  },
  ClientIp: {
    name: 'X-Client-Ip',
    description: 'Address of the client.',
    schema: text,
    applies: always,
    required: true,
  },
  ClientCountry: {
    name: 'X-Client-Country',
    description: 'Country of the client, or `XX`.',
    schema: text,
    applies: always,
    required: true,
  },
  ClientUserAgent: {
    name: 'X-Client-User-Agent',
    description: 'User agent of the client, percent-encoded.',
    schema: text,
    applies: always,
    required: true,
  },
  Traceparent: {
    name: 'traceparent',
    description: 'W3C Trace Context, if tracing is enabled.',
    schema: text,
    applies: always,
    required: false,
  },
  Tracestate: {
    name: 'tracestate',
    description: 'W3C Trace Context, if tracing is enabled.',
    schema: text,
    applies: always,
    required: false,
  },
  ClientMethod: {
    name: 'X-Client-Method',
    description: '`HEAD` if the client sent HEAD. Reply as to a GET.',
    schema: { type: 'string', enum: ['HEAD'] },
    applies: onBytes,
    required: false,
  },
  Range: {
    name: headers.range.name,
    description: 'Byte range to return (RFC 9110).',
    schema: text,
    applies: onBytes,
    required: false,
  },
  IfNoneMatch: {
    name: headers.ifNoneMatch.name,
    description: 'ETag of the copy that the client has.',
    schema: text,
    applies: onBytes,
    required: false,
  },
  IfRange: {
    name: headers.ifRange.name,
    description: 'ETag of the file that the requested range belongs to.',
    schema: text,
    applies: onBytes,
    required: false,
  },
  LastEventId: {
    name: headers.lastEventId.name,
    description: 'Id of the last event that the client received. Continue after it.',
    schema: text,
    applies: ({ reply }) => reply === 'events',
    required: false,
  },
}

export const serviceHeaderComponents: Readonly<Record<string, JsonObject>> = Object.fromEntries(
  Object.entries(serviceHeaders).map(([key, { name, description, schema, required }]) => [
    key,
    { name, in: 'header', required, description, schema },
  ]),
)

export function listServiceHeaders(operation: Operation): JsonObject[] {
  return Object.entries(serviceHeaders)
    .filter(([, { applies }]) => applies(operation))
    .map(([key]) => reference('parameters', key))
}

function schemaOf(schema: object): JsonObject {
  return { ...schema }
}

function always(): boolean {
  return true
}
function onBytes({ reply }: Operation): boolean {
  return reply === 'stream' || reply === 'raw'
}
