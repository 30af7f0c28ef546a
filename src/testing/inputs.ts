import { z } from 'zod'
import { isRecord, type Operation } from '../kernel/index.ts'
import { unknownId } from './routes.ts'

type JsonSchema = Record<string, unknown>

/** Empty for a union and for schemas of other types. */
export function fieldsOf(schema: z.ZodType): Readonly<Record<string, JsonSchema>> {
  const { properties } = toJsonSchema(schema)
  if (!isRecord(properties)) return {}
  return Object.fromEntries(
    Object.entries(properties).filter((field): field is [string, JsonSchema] => isRecord(field[1])),
  )
}

export function idFieldsOf({ body }: Operation): string[] {
  return typeof body === 'string'
    ? []
    : Object.entries(fieldsOf(body))
        .filter(([, { format }]) => format === 'uuid')
        .map(([name]) => name)
}

const byFormat: Readonly<Record<string, string>> = {
  uuid: unknownId,
  'date-time': '2026-01-01T00:00:00.000Z',
  date: '2026-01-01',
  email: 'someone@people.test',
  uri: 'https://example.test/',
}

const texts = ['Some text', '10.00', 'USD', 'US', '123456', 'en', 'UTC', 'text', 'A', '1']

/** Undefined if the schema rejects the derived value. */
export function deriveValid(schema: z.ZodType): Record<string, unknown> | undefined {
  const value = exampleOf(toJsonSchema(schema))
  return isRecord(value) && schema.safeParse(value).success ? value : undefined
}

const valueOfType: readonly (readonly [types: readonly string[], value: unknown])[] = [
  [['string'], 'portico testing'],
  [['number'], 1.5],
  [['integer', 'number'], 1],
  [['boolean'], true],
  [['array'], [{}]],
  [['object'], { porticoTesting: 1 }],
  [['null'], null],
]

/** Values of other JSON types, and a malformed id for an id. Empty if the field declares no type. */
export function wrongValuesOf(schema: JsonSchema): unknown[] {
  const allowed = typesOf(schema)
  if (allowed.length === 0) return []
  const wrong = valueOfType.filter(([types]) => !types.some((type) => allowed.includes(type))).map(([, value]) => value)
  return schema.format === 'uuid' ? [...wrong, 'not-an-id'] : wrong
}

/** Empty for free text. */
export function wrongTextsOf(schema: JsonSchema): string[] {
  const types = typesOf(schema)
  const hasForm = types.some((type) => type !== 'string') || Array.isArray(schema.enum) || schema.format !== undefined
  return hasForm ? ['portico testing'] : []
}

/** Undefined if no change of one field suffices. */
export function otherValid(schema: z.ZodType, body: Readonly<Record<string, unknown>>): object | undefined {
  for (const [name, value] of Object.entries(body))
    for (const changed of changesOf(value)) {
      const other = { ...body, [name]: changed }
      if (changed !== value && schema.safeParse(other).success) return other
    }
  return undefined
}

function toJsonSchema(schema: z.ZodType): JsonSchema {
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
}

/** The value can violate refinements of zod, which a JSON Schema does not contain. */
function exampleOf(schema: JsonSchema): unknown {
  if ('const' in schema) return schema.const
  for (const list of [schema.examples, schema.enum]) if (Array.isArray(list) && list.length > 0) return list[0]
  const [option] = [schema.anyOf, schema.oneOf].flatMap((options) => (Array.isArray(options) ? options : []))
  if (isRecord(option)) return exampleOf(option)
  if (schema.type === 'string') return textFor(schema)
  if (schema.type === 'integer' || schema.type === 'number') return Number(schema.minimum ?? 1)
  if (schema.type === 'boolean') return true
  if (schema.type === 'array') {
    const item = isRecord(schema.items) ? [exampleOf(schema.items)] : []
    return Number(schema.minItems ?? 0) > 0 ? item : []
  }
  if (schema.type !== 'object') return null
  const properties = isRecord(schema.properties) ? schema.properties : {}
  const required: unknown[] = Array.isArray(schema.required) ? schema.required : []
  const names = Object.keys(properties)
  const used =
    Number(schema.minProperties ?? 0) > required.length ? names : names.filter((name) => required.includes(name))
  return Object.fromEntries(
    used.map((name) => [name, isRecord(properties[name]) ? exampleOf(properties[name]) : null] as const),
  )
}

function textFor({ format, pattern, minLength = 0, maxLength = 1_000 }: JsonSchema): string {
  const known = typeof format === 'string' ? byFormat[format] : undefined
  if (known !== undefined) return known
  const form = typeof pattern === 'string' ? new RegExp(pattern, 'u') : /^/
  const [min, max] = [Number(minLength), Number(maxLength)]
  const candidates = [...texts, 'Passphrase-7'.repeat(Math.ceil(min / 12) || 1)]
  return candidates.find((text) => text.length >= min && text.length <= max && form.test(text)) ?? ''
}

function typesOf(schema: JsonSchema): string[] {
  const options = [schema.anyOf, schema.oneOf].flatMap((list) => (Array.isArray(list) ? list : []))
  if (options.length > 0) return options.flatMap((each) => (isRecord(each) ? typesOf(each) : []))
  return [schema.type].flat().filter((type) => typeof type === 'string')
}

function changesOf(value: unknown): unknown[] {
  if (typeof value === 'string')
    return [
      value.replace(/\d(?=\.)/, (digit) => String((Number(digit) + 1) % 10)),
      unknownId,
      `${value}x`,
      value.slice(0, -1),
    ]
  if (typeof value === 'number') return [value + 1, value - 1]
  return typeof value === 'boolean' ? [!value] : []
}
