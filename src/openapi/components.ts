import type { Catalogue } from '../contract/index.ts'
import { SealedBody, SealedReply } from '../contract/policies.ts'
import { type CodedFamily, chains, successCode, successMessage } from '../kernel/index.ts'
import type { JsonObject } from './json.ts'
import { toPascalCase } from './names.ts'
import { toJsonSchema } from './schemas.ts'

const toFamilySchema = ({ codes, values }: CodedFamily): JsonObject => {
  const numbers = Object.values(values)
  const table = codes.map((code, index) => `\`${code}\` ${numbers[index]}`).join(', ')
  return {
    type: 'object',
    description: `Coded value: ${table}. A deployment may use other numbers.`,
    properties: {
      code: { type: 'string', enum: [...codes] },
      value: { type: 'integer', format: 'int64', examples: numbers },
      label: { type: 'string', description: 'In the requested language.' },
      description: { type: 'string', description: 'In the requested language.' },
    },
    required: ['code', 'value', 'label', 'description'],
  }
}

/** Returns a schema component per family of coded values. */
export const codedComponents = ({ codedFamilies }: Catalogue): Record<string, JsonObject> =>
  Object.fromEntries([...codedFamilies.values()].map((family) => [toPascalCase(family.name), toFamilySchema(family)]))

const commonProperties: JsonObject = {
  version: { type: 'string', examples: [chains.consumer.envelope, chains.self.envelope] },
  timestamp: { type: 'integer', format: 'int64', description: 'Epoch milliseconds.' },
}
// A `const` without the type `null`. Some generators fail on an envelope that has this type and is narrowed by `allOf`.
const nothing: JsonObject = { const: null }
const required = ['version', 'timestamp', 'success', 'code', 'message', 'data']

/** The envelopes of JSON responses. */
export const envelopeComponents: Record<string, JsonObject> = {
  Success: {
    type: 'object',
    properties: {
      ...commonProperties,
      success: { const: true },
      code: { type: 'string', const: successCode },
      message: { type: 'string', examples: [successMessage] },
      data: {},
    },
    required,
  },
  Refusal: {
    type: 'object',
    properties: {
      ...commonProperties,
      success: { const: false },
      code: { type: 'string' },
      message: { type: 'string', description: 'For people, in the requested language. Can name the invalid field.' },
      data: nothing,
    },
    required,
  },
  SelfRefusal: {
    type: 'object',
    description: 'Refusals of users/self have numeric codes. Its 401 has only the three required members.',
    properties: {
      ...commonProperties,
      success: { const: false },
      code: { type: 'string' },
      message: { type: 'string' },
      data: nothing,
    },
    required: ['success', 'code', 'message'],
  },
}

/** Returns the payloads of the secure channel. */
export const sealedComponents = (catalogue: Catalogue): Record<string, JsonObject> => ({
  SealedBody: toJsonSchema(catalogue, SealedBody, 'input'),
  SealedReply: toJsonSchema(catalogue, SealedReply, 'output'),
})
