import { z } from 'zod'
import { isExactNumber, isRecord } from '../kernel/index.ts'

/** OpenAPI shows this source of a converted schema. */
export const sourceKey = 'x-json-schema'

type Json = Record<string, unknown>

const decodePointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')

/** Returns the value at a local reference such as `#/components/schemas/Loan`. Throws if it does not exist. */
const resolveReference = (document: Json, reference: string): unknown => {
  if (!reference.startsWith('#/')) throw new TypeError(`${reference} is not a reference inside the document`)
  let value: unknown = document
  for (const part of reference.slice(2).split('/').map(decodePointer)) {
    if (!isRecord(value) || !Object.hasOwn(value, part)) throw new TypeError(`${reference} does not exist`)
    value = value[part]
  }
  return value
}

/** Returns the target of a schema that is a reference. */
export const followReference = (document: Json, schema: unknown): unknown => {
  let target = schema
  for (let steps = 0; isRecord(target) && typeof target.$ref === 'string' && steps < 100; steps++)
    target = resolveReference(document, target.$ref)
  return target
}

/** Zod stores the definition of a recursive schema under this name. */
const recursiveName = '__schema0'

/** Inlines references. A recursive reference becomes a reference to `$defs`, and its target is added to `found`. */
const inline = (document: Json, value: unknown, path: readonly string[], found: Set<string>): unknown => {
  if (Array.isArray(value)) return value.map((each) => inline(document, each, path, found))
  if (!isRecord(value)) return value
  if (typeof value.$ref !== 'string')
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inline(document, each, path, found)]))
  const reference = value.$ref
  if (!path.includes(reference))
    return inline(document, resolveReference(document, reference), [...path, reference], found)
  found.add(reference)
  return { $ref: `#/$defs/${recursiveName}` }
}

/** Replaces all references with their targets. A recursive schema gets one definition in `$defs`. */
export const inlineReferences = (document: Json, value: unknown): unknown => {
  const found = new Set<string>()
  const inlined = inline(document, value, [], found)
  const [recursive, second] = found
  if (recursive === undefined) return inlined
  if (second !== undefined) throw new TypeError(`${second}: a schema can contain one recursive schema only`)
  const definition = inline(document, resolveReference(document, recursive), [recursive], new Set())
  // The first occurrence, too, so that the schema is defined once.
  const compact = inline(document, value, [recursive], new Set())
  return isRecord(compact) ? { ...compact, $defs: { [recursiveName]: definition } } : compact
}

/** Adds `additionalProperties: false` to all objects of a request, because requests reject unknown fields. */
const withStrictObjects = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withStrictObjects)
  if (!isRecord(value)) return value
  const members = Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withStrictObjects(each)]))
  return isRecord(value.properties) && value.additionalProperties === undefined
    ? { ...members, additionalProperties: false }
    : members
}

/** Rewrites `not: { pattern }`, which zod cannot convert, to a pattern with a negative lookahead. Drops annotations. */
const toConvertible = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(toConvertible)
  if (!isRecord(value)) return value
  const { not, examples: _, example: __, ...rest } = value
  const members = Object.fromEntries(
    Object.entries(rest).map(([name, each]) => [
      name,
      name === 'enum' || name === 'const' ? each : toConvertible(each),
    ]),
  )
  if (not === undefined) return members
  if (!isRecord(not) || typeof not.pattern !== 'string') throw new TypeError('`not` is only supported with a pattern')
  const excluded = { type: 'string', pattern: `^(?![\\s\\S]*?(?:${not.pattern}))` }
  return { allOf: [members, excluded] }
}

/** Throws for a keyword that zod cannot express. */
export const toZod = (source: unknown, io: 'input' | 'output'): z.ZodType => {
  if (!isRecord(source)) throw new TypeError('must be a JSON Schema object')
  const schema = io === 'input' ? withStrictObjects(source) : source
  const converted = toConvertible(schema)
  if (!isRecord(converted)) throw new TypeError('must be a JSON Schema object')
  return z.fromJSONSchema(converted).meta({ [sourceKey]: schema })
}

/** A query parameter is text, so numbers and booleans are parsed first. */
export const toQueryZod = (source: unknown): z.ZodType => {
  const schema = toZod(source, 'input')
  const type = isRecord(source) ? source.type : undefined
  if (type === 'integer' || type === 'number')
    return z
      .preprocess((text) => (isExactNumber(String(text)) ? Number(text) : text), schema)
      .meta({ [sourceKey]: source })
  if (type !== 'boolean') return schema
  const values = new Map<unknown, boolean>([
    ['true', true],
    ['false', false],
  ])
  return z.preprocess((text) => values.get(text) ?? text, schema).meta({ [sourceKey]: source })
}
