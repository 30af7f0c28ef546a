import { codedFamilies } from '../contract/index.ts'
import type { CodedFamily } from '../kernel/index.ts'
import type { JsonObject } from './json.ts'
import { pascal } from './names.ts'

const componentOf = ({ codes, values }: CodedFamily): JsonObject => {
  const numbers = Object.values(values)
  const table = codes.map((code, index) => `\`${code}\` ${numbers[index]}`).join(', ')
  return {
    type: 'object',
    description: `Coded value: ${table}. A deployment may use other numbers.`,
    properties: {
      code: { type: 'string', enum: [...codes] },
      value: { type: 'integer', format: 'int64', examples: numbers },
      label: { type: 'string', description: 'in the language asked for' },
      description: { type: 'string', description: 'in the language asked for' },
    },
    required: ['code', 'value', 'label', 'description'],
  }
}

/** One schema component per family of coded values. */
export const codedComponents = (): Record<string, JsonObject> =>
  Object.fromEntries([...codedFamilies.values()].map((family) => [pascal(family.name), componentOf(family)]))
