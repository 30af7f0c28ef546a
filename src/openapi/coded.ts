import { type CodedFamily, codedFamilies, codedFamilyNames, codesOf } from '../kernel/index.ts'
import type { JsonObject } from './json.ts'
import { pascal } from './names.ts'

const componentOf = (family: CodedFamily): JsonObject => {
  const codes = codesOf(family)
  const values = Object.values(codedFamilies[family])
  const table = codes.map((code, place) => `\`${code}\` ${values[place]}`).join(', ')
  return {
    type: 'object',
    description: `Coded value: ${table}. A deployment may use other numbers.`,
    properties: {
      code: { type: 'string', enum: codes },
      value: { type: 'integer', format: 'int64', examples: values },
      label: { type: 'string', description: 'in the language asked for' },
      description: { type: 'string', description: 'in the language asked for' },
    },
    required: ['code', 'value', 'label', 'description'],
  }
}

/** A component per family of coded values (interface.md 2.2). */
export const codedComponents = (): Record<string, JsonObject> =>
  Object.fromEntries(codedFamilyNames.map((family) => [pascal(family), componentOf(family)]))
