import { z } from 'zod'
import { type Chain, codesOf, type Operation } from '../kernel/index.ts'
import type { Example } from './examples.ts'
import { type JsonObject, reference } from './json.ts'
import { codeNameOf, pascal } from './names.ts'
import { schemaOf } from './schema.ts'

const nameOf = (operation: Operation): string => `${pascal(codeNameOf(operation))}Request`

/** The bodies of all operations, a component each. */
export const bodyComponents = (operations: readonly Operation[]): Record<string, JsonObject> =>
  Object.fromEntries(
    operations.flatMap((operation) =>
      operation.body instanceof z.ZodType ? [[nameOf(operation), schemaOf(operation.body, 'input')]] : [],
    ),
  )

/** What stands in a body's place when it comes through the secure channel. */
export const sealedBody: JsonObject = {
  type: 'object',
  description:
    'The body through the secure channel: a compact JWE (RFC 7516), header `{alg: dir, enc: A256GCM, kid, seq, htm, htu}`, ' +
    'whose plaintext is the body in its usual form.',
  properties: { payload: { type: 'string' } },
  required: ['payload'],
  additionalProperties: false,
}

const uploadForm: JsonObject = {
  type: 'object',
  properties: {
    file: { type: 'string', contentMediaType: 'application/octet-stream' },
    purpose: { type: 'string', enum: codesOf('filePurpose') },
  },
  required: ['file', 'purpose'],
  additionalProperties: false,
}

/** The request body of an operation, as far as it has one. */
export const bodyOf = (operation: Operation, chain: Chain, example: Example): JsonObject => {
  const { body, policy } = operation
  if (body === 'none') return {}
  const { request } = example
  const examples = request === undefined ? {} : { examples: { recorded: { value: request } } }
  if (body === 'multipart')
    return { requestBody: { required: true, content: { 'multipart/form-data': { schema: uploadForm, ...examples } } } }
  const plain = reference('schemas', nameOf(operation))
  const sealable = chain.perimeter === 'portal' && policy.channel === 'optional'
  const schema = sealable ? { anyOf: [plain, reference('schemas', 'SealedBody')] } : plain
  const required = !(body instanceof z.ZodOptional)
  return { requestBody: { required, content: { 'application/json': { schema, ...examples } } } }
}
