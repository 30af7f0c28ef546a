import type { Catalogue } from '../contract/index.ts'
import { SealedBody, SealedReply } from '../contract/policies.ts'
import { type CodedFamily, chains, successCode, successMessage } from '../kernel/index.ts'
import { type JsonObject, reference } from './json.ts'
import { codeComponentOf, toPascalCase } from './names.ts'
import { toJsonSchema } from './schemas.ts'

/** Two components per family: the coded value and its code. */
export function codedComponents({ codedFamilies }: Catalogue): Record<string, JsonObject> {
  return Object.fromEntries(
    [...codedFamilies.values()].flatMap((family): [string, JsonObject][] => [
      [toPascalCase(family.name), toFamilySchema(family)],
      [codeComponentOf(family.name), { type: 'string', enum: [...family.codes] }],
    ]),
  )
}

const version: JsonObject = { type: 'string', examples: [chains.consumer.envelope, chains.self.envelope] }
/** Without `const`: several generators write code for a constant boolean that fails or does not compile. */
const successFlag: JsonObject = { type: 'boolean' }
const timestamp: JsonObject = { type: 'integer', format: 'int64', description: 'Epoch milliseconds.' }

/** Without `type: null`, for which the Java generator refers to a class that it does not create. */
export const nullData: JsonObject = { const: null }

/** Returns the schema of a successful response. Without `allOf`, because generators name and merge its parts differently. */
export function toEnvelope(data: JsonObject): JsonObject {
  return {
    type: 'object',
    properties: {
      version,
      timestamp,
      success: { ...successFlag, examples: [true] },
      code: { type: 'string', const: successCode },
      message: { type: 'string', examples: [successMessage] },
      data,
    },
    required: ['version', 'timestamp', 'success', 'code', 'message', 'data'],
  }
}

/** All chains share one schema. */
export const refusalComponent: JsonObject = {
  type: 'object',
  description:
    'A refusal. Each response lists its codes. Refusals of users/self have numeric codes, and its 401 has only the ' +
    'three required members.',
  properties: {
    version,
    timestamp,
    success: { ...successFlag, examples: [false] },
    code: { type: 'string', examples: ['VALIDATION.INVALID_PARAMETER'] },
    message: { type: 'string', description: 'For people, in the requested language. Can name the invalid field.' },
    data: nullData,
  },
  required: ['success', 'code', 'message'],
}

export function sealedComponents(catalogue: Catalogue): Record<string, JsonObject> {
  return {
    SealedBody: toJsonSchema(catalogue, SealedBody, 'input'),
    SealedReply: toJsonSchema(catalogue, SealedReply, 'output'),
  }
}

function toFamilySchema({ name, codes, values }: CodedFamily): JsonObject {
  const numbers = codes.map((code) => values[code] ?? 0)
  const table = codes.map((code, index) => `\`${code}\` ${numbers[index]}`).join(', ')
  return {
    type: 'object',
    description: `Coded value: ${table}. A deployment may use other numbers.`,
    properties: {
      code: reference('schemas', codeComponentOf(name)),
      value: { type: 'integer', format: 'int64', examples: numbers },
      label: { type: 'string', description: 'In the requested language.' },
      description: { type: 'string', description: 'In the requested language.' },
    },
    required: ['code', 'value', 'label', 'description'],
  }
}
