import { z } from 'zod'
import { isSealable } from '../contract/policies.ts'
import { filePurpose } from '../domains/files/contract.ts'
import type { Chain, Operation } from '../kernel/index.ts'
import type { Example } from './examples.ts'
import { type JsonObject, reference } from './json.ts'
import { exportNameOf, toPascalCase } from './names.ts'
import { inBatches, toJsonSchema } from './schemas.ts'

const componentName = (operation: Operation): string => `${toPascalCase(exportNameOf(operation))}Request`

/** A schema component per operation with a JSON body. */
export const bodyComponents = async (operations: readonly Operation[]): Promise<Record<string, JsonObject>> => {
  const components: Record<string, JsonObject> = {}
  for await (const operation of inBatches(operations))
    if (operation.body instanceof z.ZodType)
      components[componentName(operation)] = toJsonSchema(operation.body, 'input')
  return components
}

const uploadForm: JsonObject = {
  type: 'object',
  properties: {
    file: { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' },
    purpose: { type: 'string', enum: [...filePurpose.codes] },
  },
  required: ['file', 'purpose'],
  additionalProperties: false,
}

/** The `requestBody` member of an operation; empty without a body. */
export const toRequestBody = (operation: Operation, chain: Chain, example: Example): JsonObject => {
  const { body } = operation
  if (body === 'none') return {}
  const { request } = example
  const examples = request === undefined ? {} : { examples: { recorded: { value: request } } }
  if (body === 'multipart')
    return { requestBody: { required: true, content: { 'multipart/form-data': { schema: uploadForm, ...examples } } } }
  const plain = reference('schemas', componentName(operation))
  const schema = isSealable(operation, chain) ? { anyOf: [plain, reference('schemas', 'SealedBody')] } : plain
  const required = !(body instanceof z.ZodOptional)
  return { requestBody: { required, content: { 'application/json': { schema, ...examples } } } }
}
