import { setImmediate as turn } from 'node:timers/promises'
import { z } from 'zod'
import { codedFamilies, permissionLists } from '../contract/index.ts'
import { isJsonObject, type JsonObject, mapMembers, reference, toJsonObject } from './json.ts'
import { toPascalCase } from './names.ts'

/** Formats that say all that zod's own patterns for them say. */
const selfExplaining = new Set(['date-time', 'uuid', 'email', 'ipv4', 'ipv6', 'cidrv4', 'cidrv6'])

/** Generators of clients take an integer for one of 32 bits unless it says otherwise. */
const largestInt32 = 2_147_483_647

/** Drops what a reader gains nothing from: patterns behind formats, the bounds of safe integers, object defaults. */
const tidy = (schema: Record<string, unknown>, io: 'input' | 'output'): void => {
  if (typeof schema.format === 'string' && selfExplaining.has(schema.format)) delete schema.pattern
  // JavaScript escapes a slash where it writes an expression down; the expression itself has none to escape.
  if (typeof schema.pattern === 'string') schema.pattern = schema.pattern.replaceAll('\\/', '/')
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  if (schema.type === 'integer' && !(Number(schema.maximum) <= largestInt32)) schema.format = 'int64'
  if (typeof schema.default === 'object') delete schema.default
  // A reply may grow; a request that names an unknown field is refused.
  if (io === 'output' && schema.additionalProperties === false) delete schema.additionalProperties
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames
}

/** The contract marks a coded value by its family's name as title; all of a family share one component. */
const share = (schema: Record<string, unknown>): void => {
  const { title } = schema
  if (typeof title !== 'string' || !codedFamilies.has(title)) return
  for (const name of Object.keys(schema)) delete schema[name]
  Object.assign(schema, reference('schemas', toPascalCase(title)))
}

/** The contract names a list of permission codes by its title; the catalogue knows the codes. */
const listPermissions = (schema: Record<string, unknown>): void => {
  const codes = Object.entries(permissionLists).find(([name]) => name === schema.title)?.[1]
  if (!codes) return
  delete schema.title
  Object.assign(schema, { items: { type: 'string', enum: [...codes] }, maxItems: codes.length })
}

/** A zod schema as JSON Schema 2020-12: `input` is what a request may say, `output` what a reply will. */
export const toJsonSchema = (schema: z.ZodType, io: 'input' | 'output'): JsonObject => {
  const { $schema: _, ...rest } = toJsonObject(
    z.toJSONSchema(schema, {
      io,
      target: 'draft-2020-12',
      override: ({ jsonSchema }) => {
        tidy(jsonSchema, io)
        share(jsonSchema)
        listPermissions(jsonSchema)
      },
    }),
  )
  return mapMembers(rest, foldNullable)
}

/** Of a map of anything it is the other way about: its type with null beside it is read as never null. */
const isAnyMap = ({ additionalProperties: values }: JsonObject): boolean =>
  isJsonObject(values) && Object.keys(values).length === 0

/** `T or null` as one schema of two types: of an `anyOf` with a record in it some generators make no client at all. */
export const foldNullable = (schema: JsonObject): JsonObject | undefined => {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return undefined
  const [value, other] = anyOf
  if (!isJsonObject(value) || !isJsonObject(other) || other.type !== 'null') return undefined
  if (typeof value.type !== 'string' || 'enum' in value || 'const' in value || isAnyMap(value)) return undefined
  return mapMembers({ ...rest, ...value, type: [value.type, 'null'] }, foldNullable)
}

/** A millisecond's work or two. A busy process may take ten times that for a turn, and whoever waits for the document all turns. */
const atOnce = 8

/** A few in each turn of the event loop: the process that makes the document serves others meanwhile. */
export async function* inBatches<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const [index, item] of items.entries()) {
    if (index % atOnce === 0) await turn()
    yield item
  }
}
