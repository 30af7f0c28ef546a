import { isSealable } from '../contract/policies.ts'
import type { Chain, Operation } from '../kernel/index.ts'
import type { Example } from './examples.ts'
import { type JsonObject, reference } from './json.ts'

/** The response headers as components. */
export const responseHeaderComponents: Record<string, JsonObject> = {
  RequestId: { description: 'The request’s id.', schema: { type: 'string' } },
  RateLimit: {
    description:
      'What is left of the tightest limit, or of the one that refused (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string', examples: ['"general-account";r=599;t=60'] },
  },
  RateLimitPolicy: {
    description: 'The tightest limit, or the one that refused.',
    schema: { type: 'string', examples: ['"general-account";q=600;w=60'] },
  },
  WwwAuthenticate: {
    description: 'What is wanted: a bearer token (RFC 6750).',
    schema: { type: 'string', examples: ['Bearer'] },
  },
  RetryAfter: { description: 'Seconds until another try makes sense.', schema: { type: 'integer' } },
  ETag: { description: 'Names these bytes.', schema: { type: 'string' } },
  ContentDisposition: { description: 'Always an attachment, with its name.', schema: { type: 'string' } },
  ContentRange: { description: 'Which part this is, of how much.', schema: { type: 'string' } },
  AcceptRanges: { description: 'Parts can be asked for, by `bytes`.', schema: { type: 'string' } },
}

const toHeaders = (names: Record<string, string>): JsonObject => ({
  headers: Object.fromEntries(
    Object.entries(names).map(([header, component]) => [header, reference('headers', component)]),
  ),
})

const commonHeaders = {
  'X-Request-Id': 'RequestId',
  RateLimit: 'RateLimit',
  'RateLimit-Policy': 'RateLimitPolicy',
}
/** The headers of every response, and additional ones by component name. */
export const responseHeaders = (more: Record<string, string> = {}): JsonObject =>
  toHeaders({ ...commonHeaders, ...more })

const versionHeaders = { ETag: 'ETag', 'Accept-Ranges': 'AcceptRanges' }
const fileHeaders = { ...versionHeaders, 'Content-Disposition': 'ContentDisposition' }

/** A file of any type. */
const toBinaryContent = (examples: JsonObject = {}): JsonObject => ({
  '*/*': { schema: { type: 'string', format: 'binary' }, ...examples },
})

const streamResponses = (examples: JsonObject): Record<string, JsonObject> => ({
  200: { description: 'The bytes.', ...responseHeaders(fileHeaders), content: toBinaryContent(examples) },
  206: {
    description: 'The part that was asked for.',
    ...responseHeaders({ ...fileHeaders, 'Content-Range': 'ContentRange' }),
    content: toBinaryContent(),
  },
  304: { description: 'The caller has these bytes already.', ...responseHeaders(versionHeaders) },
})

/** The successful responses of an operation, with `data` as its plain schema. */
export const toSuccessResponses = (
  operation: Operation,
  chain: Chain,
  plainData: JsonObject,
  { reply }: Example,
): Record<string, JsonObject> => {
  const examples: JsonObject = reply === undefined ? {} : { examples: { recorded: { value: reply } } }
  if (operation.reply === 'stream') return streamResponses(examples)
  const data = isSealable(operation, chain) ? { anyOf: [plainData, reference('schemas', 'SealedReply')] } : plainData
  const schema: JsonObject = {
    allOf: [reference('schemas', 'Success'), { type: 'object', properties: { data }, required: ['data'] }],
  }
  return {
    200: {
      description: 'Success.',
      ...responseHeaders(),
      content: { 'application/json': { schema, ...examples } },
    },
  }
}
