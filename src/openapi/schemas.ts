import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import type { Catalogue } from '../contract/index.ts'
import { isJsonObject, type JsonObject, mapMembers, reference, toJsonObject } from './json.ts'
import { toPascalCase } from './names.ts'

/** Formats that make zod's pattern for them redundant. */
const formatsWithoutPattern = new Set(['date-time', 'uuid', 'email', 'ipv4', 'ipv6', 'cidrv4', 'cidrv6'])

/** The maximum of 32-bit integers. Client generators assume 32 bits unless the schema has another format. */
const maxInt32 = 2_147_483_647

/** Whether `additionalProperties` of a reply is left out, because replies can get additional fields later. */
const isOpen = (additional: unknown): boolean => additional === false || JSON.stringify(additional) === '{}'

/** Removes redundant keywords: patterns of known formats, the bounds of safe integers, object defaults. */
const simplify = (schema: Record<string, unknown>, io: 'input' | 'output'): void => {
  if (typeof schema.format === 'string' && formatsWithoutPattern.has(schema.format)) delete schema.pattern
  // RegExp.source escapes slashes, which JSON Schema patterns do not need.
  if (typeof schema.pattern === 'string') schema.pattern = schema.pattern.replaceAll('\\/', '/')
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.type === 'integer' && !(Number(schema.maximum) <= maxInt32)) schema.format = 'int64'
  if (typeof schema.default === 'object') delete schema.default
  if (io === 'output' && schema.properties !== undefined && isOpen(schema.additionalProperties))
    delete schema.additionalProperties
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames
}

/** Replaces a coded value, whose title is its family's name, by a reference to the family's component. */
const referToFamily = ({ codedFamilies }: Catalogue, schema: Record<string, unknown>): void => {
  const { title } = schema
  if (typeof title !== 'string' || !codedFamilies.has(title)) return
  for (const name of Object.keys(schema)) delete schema[name]
  Object.assign(schema, reference('schemas', toPascalCase(title)))
}

/** Replaces a schema that was converted from a document by its source. */
const restoreSource = (schema: Record<string, unknown>): void => {
  const source = schema['x-json-schema']
  if (typeof source !== 'object' || source === null) return
  for (const name of Object.keys(schema)) delete schema[name]
  Object.assign(schema, structuredClone(source))
}

/** Adds the permission codes to a list that the contract marks by its title. The catalogue has the codes. */
const listPermissions = ({ permissionLists }: Catalogue, schema: Record<string, unknown>): void => {
  const codes = Object.entries(permissionLists).find(([name]) => name === schema.title)?.[1]
  if (!codes) return
  delete schema.title
  Object.assign(schema, { items: { type: 'string', enum: [...codes] }, maxItems: codes.length })
}

/**
 * Whether a schema is a nullable map of any values. Client generators would read it as never null if it were folded.
 */
const isAnyMap = ({ additionalProperties: values }: JsonObject): boolean =>
  isJsonObject(values) && Object.keys(values).length === 0

/** Folds `T | null` into one schema with two types: some client generators fail on an `anyOf` with an object. */
export const foldNullable = (schema: JsonObject): JsonObject | undefined => {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return undefined
  const [value, other] = anyOf
  if (!isJsonObject(value) || !isJsonObject(other) || other.type !== 'null') return undefined
  if (typeof value.type !== 'string' || 'enum' in value || 'const' in value || isAnyMap(value)) return undefined
  return mapMembers({ ...rest, ...value, type: [value.type, 'null'] }, foldNullable)
}

/** Returns a zod schema as JSON Schema 2020-12: `input` for requests, `output` for replies. */
export const toJsonSchema = (catalogue: Catalogue, schema: z.ZodType, io: 'input' | 'output'): JsonObject => {
  const { $schema: _, ...rest } = toJsonObject(
    z.toJSONSchema(schema, {
      io,
      target: 'draft-2020-12',
      override: ({ jsonSchema }) => {
        restoreSource(jsonSchema)
        simplify(jsonSchema, io)
        referToFamily(catalogue, jsonSchema)
        listPermissions(catalogue, jsonSchema)
      },
    }),
  )
  return mapMembers(rest, foldNullable)
}

/** A batch converts schemas for one to two milliseconds. A larger batch would block requests. */
const batchSize = 8

/** Yields the items with a turn of the event loop after each batch, so that the process can serve requests. */
export async function* inBatches<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const [index, item] of items.entries()) {
    if (index % batchSize === 0) await nextTurn()
    yield item
  }
}
