import { setImmediate as nextTurn } from 'node:timers/promises'
import { z } from 'zod'
import type { Catalogue } from '../contract/index.ts'
import { isJsonObject, type Json, type JsonObject, mapMembers, reference, toJsonObject } from './json.ts'
import { codeComponentOf, toPascalCase } from './names.ts'

/** Formats for which zod adds a redundant pattern. */
const formatsWithoutPattern = new Set(['date-time', 'uuid', 'email', 'ipv4', 'ipv6', 'cidrv4', 'cidrv6'])

/** Client generators assume 32-bit integers unless the schema has a format. */
const maxInt32 = 2_147_483_647

/** A field with this key exists only with a domain. */
const domainKey = 'x-domain'

/** Folds `T | null` into one schema with two types: some client generators fail on an `anyOf` with an object. */
export function foldNullable(schema: JsonObject): JsonObject | undefined {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return undefined
  const [value, other] = anyOf
  if (!isJsonObject(value) || !isJsonObject(other) || other.type !== 'null') return undefined
  if (typeof value.type !== 'string' || 'enum' in value || 'const' in value || isAnyMap(value)) return undefined
  return mapMembers({ ...rest, ...value, type: [value.type, 'null'] }, foldNullable)
}

/** Returns a zod schema as JSON Schema 2020-12: `input` for requests, `output` for replies. */
export function toJsonSchema(catalogue: Catalogue, schema: z.ZodType, io: 'input' | 'output'): JsonObject {
  const { $schema: _, ...rest } = toJsonObject(
    z.toJSONSchema(schema, {
      io,
      target: 'draft-2020-12',
      override: ({ jsonSchema }) => {
        restoreSource(jsonSchema)
        simplify(jsonSchema, io)
        referToFamily(catalogue, jsonSchema)
        referToCodes(catalogue, jsonSchema)
        listPermissions(catalogue, jsonSchema)
      },
    }),
  )
  const possible = withoutImpossible(rest) ?? mapMembers(rest, withoutImpossible)
  return mapMembers(mapMembers(possible, withDomainFields(catalogue)), foldNullable)
}

/** Converting a batch takes one to two milliseconds. A larger batch would block requests. */
const batchSize = 8

/** Yields to the event loop after each batch, so that the process can serve requests. */
export async function* inBatches<Item>(items: readonly Item[]): AsyncGenerator<Item> {
  for (const [index, item] of items.entries()) {
    if (index % batchSize === 0) await nextTurn()
    yield item
  }
}

/**
 * If `T | null` were folded for such a map, client generators would treat it as never null.
 */
function isAnyMap({ additionalProperties: values }: JsonObject): boolean {
  return isJsonObject(values) && Object.keys(values).length === 0
}

function restoreSource(schema: Record<string, unknown>): void {
  const source = schema['x-json-schema']
  if (typeof source !== 'object' || source === null) return
  for (const name of Object.keys(schema)) delete schema[name]
  Object.assign(schema, structuredClone(source))
}

function simplify(schema: Record<string, unknown>, io: 'input' | 'output'): void {
  if (typeof schema.format === 'string' && formatsWithoutPattern.has(schema.format)) delete schema.pattern
  // RegExp.source escapes slashes, which JSON Schema patterns do not need.
  if (typeof schema.pattern === 'string') schema.pattern = schema.pattern.replaceAll('\\/', '/')
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
  // Some generators have no constants of the type number.
  if (schema.type === 'number' && Number.isInteger(schema.const)) schema.type = 'integer'
  else if (schema.type === 'integer' && !(Number(schema.maximum) <= maxInt32)) schema.format = 'int64'
  if (typeof schema.default === 'object') delete schema.default
  // Several generators write code for a constant boolean that fails or does not compile.
  if (io === 'output' && typeof schema.const === 'boolean') delete schema.const
  if (io === 'output' && schema.properties !== undefined && isOpen(schema.additionalProperties))
    delete schema.additionalProperties
  if (JSON.stringify(schema.propertyNames) === '{"type":"string"}') delete schema.propertyNames
}

/** Whether to omit `additionalProperties` from a reply's schema, because replies may get additional fields later. */
function isOpen(additional: unknown): boolean {
  return additional === false || JSON.stringify(additional) === '{}'
}

/** The title of a coded value is the name of its family. */
function referToFamily({ codedFamilies }: Catalogue, schema: Record<string, unknown>): void {
  const { title } = schema
  if (typeof title !== 'string' || !codedFamilies.has(title)) return
  for (const name of Object.keys(schema)) delete schema[name]
  Object.assign(schema, reference('schemas', toPascalCase(title)))
}

/** The contract marks a family's code by the title `<family>.code`. */
function referToCodes({ codedFamilies }: Catalogue, schema: Record<string, unknown>): void {
  if (typeof schema.title !== 'string' || !schema.title.endsWith('.code')) return
  const family = codedFamilies.get(schema.title.slice(0, -'.code'.length))
  if (!family) return
  const { const: code } = schema
  delete schema.title
  if (typeof code === 'string' && family.codes.includes(code)) return
  for (const name of Object.keys(schema)) delete schema[name]
  Object.assign(schema, code === undefined ? reference('schemas', codeComponentOf(family.name)) : { not: {} })
}

/** The contract marks such a list by its title. */
function listPermissions({ permissionLists }: Catalogue, schema: Record<string, unknown>): void {
  const codes = Object.entries(permissionLists).find(([name]) => name === schema.title)?.[1]
  if (!codes) return
  delete schema.title
  Object.assign(schema, { items: { type: 'string', enum: [...codes] }, maxItems: codes.length })
}

/** Removes the alternatives that require a code of a domain that is off. */
function withoutImpossible(schema: JsonObject): JsonObject | undefined {
  const { oneOf } = schema
  if (!Array.isArray(oneOf) || !oneOf.some(isImpossible)) return undefined
  return { ...schema, oneOf: oneOf.filter((each) => !isImpossible(each)) }
}

function isImpossible(schema: Json | undefined): boolean {
  return isJsonObject(schema) && isJsonObject(schema.properties) && Object.values(schema.properties).some(isNever)
}
function isNever(schema: Json): boolean {
  return JSON.stringify(schema) === '{"not":{}}'
}

/** Removes the fields of domains that are off. */
function withDomainFields({ summaries }: Catalogue) {
  return (schema: JsonObject): JsonObject | undefined => {
    const fields = Object.entries(isJsonObject(schema.properties) ? schema.properties : {})
    if (!fields.some(([, field]) => isJsonObject(field) && domainKey in field)) return undefined
    const properties = fields.flatMap(([name, field]): [string, Json][] => {
      if (!isJsonObject(field) || !(domainKey in field)) return [[name, field]]
      const { [domainKey]: domain, ...plain } = field
      return summaries.has(String(domain)) ? [[name, plain]] : []
    })
    return { ...schema, properties: Object.fromEntries(properties) }
  }
}
