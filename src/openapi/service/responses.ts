import type { Catalogue } from '../../contract/index.ts'
import type { Code, Operation } from '../../kernel/index.ts'
import type { Example } from '../examples.ts'
import { isJsonObject, type JsonObject, reference, toJsonObject } from '../json.ts'
import type { Sentence } from '../responses.ts'

export const refusalSchema: JsonObject = {
  type: 'object',
  description: 'The client gets the status and the message that the gateway defines for `code`.',
  properties: {
    success: { type: 'boolean', examples: [false] },
    code: { type: 'string' },
    message: { type: 'string', description: 'Ignored.' },
    data: { const: null },
    field: { type: 'string', description: 'Name of the invalid input.', pattern: '^[\\w.$-]{1,64}$' },
  },
  required: ['success', 'code', 'message', 'data'],
}

/** Adds the registered claims (RFC 7519) to those of the caller. */
export function claimsSchema(claims: object, issuer: string, audience: string): JsonObject {
  const { $schema: _, properties = {}, required = [], ...rest } = toJsonObject(claims)
  return {
    ...rest,
    description: 'The claims of a call assertion.',
    properties: {
      iss: { const: issuer },
      aud: { const: audience },
      iat: seconds('Epoch seconds.'),
      nbf: seconds('Epoch seconds.'),
      exp: seconds('Epoch seconds.'),
      jti: { type: 'string', format: 'uuid' },
      ...(isJsonObject(properties) ? properties : {}),
    },
    required: ['iss', 'aud', 'iat', 'nbf', 'exp', 'jti', ...(Array.isArray(required) ? required : [])],
  }
}

const binary: JsonObject = { '*/*': { schema: { type: 'string', format: 'binary' } } }

/** Returns the successful responses of a service. */
export function toServiceReplies({ reply }: Operation, data: JsonObject, example: Example): Record<string, JsonObject> {
  switch (reply) {
    case 'stream':
      return {
        200: { description: 'The file.', content: binary },
        206: { description: 'The requested range of the file.', content: binary },
        304: { description: 'Not modified.' },
      }
    case 'raw':
      return { '2XX': { description: 'A response that is passed through.', content: binary } }
    case 'events':
      return {
        200: { description: 'Server-sent events.', content: { 'text/event-stream': { schema: { type: 'string' } } } },
      }
    case 'socket':
      return { 101: { description: 'A WebSocket connection (RFC 6455).' } }
    default:
      return {
        200: {
          description: 'The data. The gateway adds the envelope.',
          content: { 'application/json': { schema: data, ...dataExample(example) } },
        },
      }
  }
}

/** One response per status. */
export function toRefusalResponses(
  { statusOf }: Catalogue,
  codes: readonly Code[],
  sentence: Sentence,
): Record<string, JsonObject> {
  const byStatus: Record<string, Code[]> = {}
  for (const code of codes) byStatus[statusOf(code)] = [...(byStatus[statusOf(code)] ?? []), code]
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, same]) => [
      status,
      {
        description: same.map((code) => `\`${code}\`: ${sentence(code)}.`).join('\n\n'),
        content: {
          'application/json': {
            schema: {
              allOf: [
                reference('schemas', 'Refusal'),
                { type: 'object', properties: { code: { type: 'string', enum: [...same] } } },
              ],
            },
          },
        },
      },
    ]),
  )
}

function seconds(description: string): JsonObject {
  return { type: 'integer', format: 'int64', description }
}

/** The gateway adds the envelope. */
function dataExample({ reply }: Example): JsonObject {
  return isJsonObject(reply) && 'data' in reply ? { examples: { recorded: { value: reply.data ?? null } } } : {}
}
