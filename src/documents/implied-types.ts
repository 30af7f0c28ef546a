import { isRecord } from '../kernel/index.ts'

const keywordsOfType: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  ['object', ['properties', 'required', 'patternProperties', 'additionalProperties', 'minProperties', 'maxProperties']],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains']],
  ['string', ['pattern', 'minLength', 'maxLength', 'format']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
]

/** The names in these are not keywords. */
export const mapsOfSchemas: ReadonlySet<string> = new Set([
  ...['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'],
])
/** Values of these keywords are data. */
export const dataKeywords: ReadonlySet<string> = new Set([
  ...['enum', 'const', 'default', 'required', 'example', 'examples'],
])

/** Converts the schemas inside a schema. */
export const convertParts = (schema: object, convert: (part: unknown) => unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(schema).map(([keyword, each]) => {
      if (dataKeywords.has(keyword)) return [keyword, each]
      if (!mapsOfSchemas.has(keyword) || !isRecord(each)) return [keyword, convert(each)]
      return [keyword, Object.fromEntries(Object.entries(each).map(([name, own]) => [name, convert(own)]))]
    }),
  )

const impliedType = (schema: Record<string, unknown>): string | undefined =>
  ['type', '$ref', 'enum', 'const'].some((keyword) => keyword in schema)
    ? undefined
    : keywordsOfType.find(([, keywords]) => keywords.some((keyword) => keyword in schema))?.[0]

/** Zod ignores a required field that `properties` lacks. */
const withRequired = ({ properties, required }: Record<string, unknown>): object => {
  const declared = isRecord(properties) ? properties : {}
  const missing = (Array.isArray(required) ? required : []).map(String).filter((name) => !Object.hasOwn(declared, name))
  return missing.length === 0
    ? {}
    : { properties: { ...declared, ...Object.fromEntries(missing.map((name) => [name, {}])) } }
}

/**
 * Adds the type that the keywords of a schema imply. Zod ignores keywords without a type, such as those of
 * `allOf: [..., { required: [reason] }]`.
 */
export const withImpliedTypes = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withImpliedTypes)
  if (!isRecord(value)) return value
  const schema: Record<string, unknown> = { ...value, ...withRequired(value) }
  const type = impliedType(schema)
  return {
    ...convertParts(schema, withImpliedTypes),
    ...(type !== undefined && { type }),
  }
}
