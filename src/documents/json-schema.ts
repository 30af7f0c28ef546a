import { z } from 'zod'
import { isRecord } from '../kernel/index.ts'
import { CheckedSchema, checkWith } from './evaluation.ts'
import { assertKeywords, isAnnotation } from './keywords.ts'
import { assertLinearPatterns, convertParts } from './slow-patterns.ts'

/** OpenAPI shows this source of a converted schema. */
export const sourceKey = 'x-json-schema'

type Json = Record<string, unknown>

/** Twenty times the largest operation of the interface. */
const maxParts = 20_000
const maxDepth = 64

/** Returns the target of a schema that is a reference. */
export function followReference(document: Json, schema: unknown): unknown {
  let target = schema
  for (let steps = 0; isRecord(target) && typeof target.$ref === 'string' && steps < 100; steps++)
    target = resolveReference(document, target.$ref)
  return target
}

/** The definition of a recursive schema has this name. */
const recursiveName = '__schema0'

/** The references that repeat themselves, and the parts so far. */
class Inlined {
  readonly recursive = new Set<string>()
  #parts = 0

  /** Throws a TypeError before references that repeat each other fill the memory. */
  count(depth: number): void {
    this.#parts += 1
    assertLimits(this.#parts, depth)
  }
}

/** Replaces all references with their targets. A recursive schema gets one definition in `$defs`. */
export function inlineReferences(document: Json, value: unknown): unknown {
  const found = new Inlined()
  const inlined = inline(document, value, [], found)
  const [recursive, second] = found.recursive
  if (recursive === undefined) return inlined
  if (second !== undefined) throw new TypeError(`${second}: a schema can contain one recursive schema only`)
  const definition = inline(document, resolveReference(document, recursive), [recursive], new Inlined())
  // The first occurrence, too, so that the schema is defined once.
  const compact = inline(document, value, [recursive], new Inlined())
  return isRecord(compact) ? { ...compact, $defs: { [recursiveName]: definition } } : compact
}

const combinations = ['allOf', 'anyOf', 'oneOf', 'not', '$ref']

/** The keywords, too, because the testing kit reads the schemas. */
export function described(zod: z.ZodType, schema: unknown): z.ZodType {
  return zod.meta({ ...(isRecord(schema) && schema), [sourceKey]: schema })
}

export function withDefault(zod: z.ZodType, source: unknown): z.ZodType {
  return isRecord(source) && source.default !== undefined ? zod.default(source.default) : zod
}

/**
 * A request with an undeclared field is invalid. A reply loses it. Throws for a keyword that Portico does not check, and for
 * a slow pattern.
 */
export function toZod(source: unknown, io: 'input' | 'output'): z.ZodType {
  if (!isRecord(source)) throw new TypeError('must be a JSON Schema object')
  assertBounded(source)
  assertKeywords(source)
  assertLinearPatterns(source)
  for (const definition of Object.values(isRecord(source.$defs) ? source.$defs : {})) assertDescends(definition)
  const schema = new CheckedSchema(source, io)
  const shown = io === 'input' ? withStrictObjects(source) : source
  const zod = (fieldsOf(source, schema) ?? z.unknown()).check(checkWith(schema, source))
  return withDefault(described(zod, shown), source)
}

/** Returns the value at a local reference such as `#/components/schemas/Loan`. Throws if it does not exist. */
function resolveReference(document: Json, reference: string): unknown {
  if (!reference.startsWith('#/')) throw new TypeError(`${reference} is not a reference inside the document`)
  let value: unknown = document
  for (const part of reference.slice(2).split('/').map(decodePointer)) {
    if (!isRecord(value) || !Object.hasOwn(value, part)) throw new TypeError(`${reference} does not exist`)
    value = value[part]
  }
  return value
}

function decodePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~')
}

function assertLimits(parts: number, depth: number): void {
  if (parts > maxParts) throw new TypeError(`has more than ${maxParts} parts, with its references replaced`)
  if (depth > maxDepth) throw new TypeError(`is nested more than ${maxDepth} times`)
}

/** Inlines references. A recursive reference becomes a reference to `$defs`, and its target is added to `found`. */
function inline(document: Json, value: unknown, path: readonly string[], found: Inlined): unknown {
  found.count(path.length)
  if (Array.isArray(value)) return value.map((each) => inline(document, each, path, found))
  if (!isRecord(value)) return value
  const { $ref: reference, ...others } = value
  const inlineAll = (members: Json): Json =>
    Object.fromEntries(Object.entries(members).map(([name, each]) => [name, inline(document, each, path, found)]))
  if (typeof reference !== 'string') return inlineAll(value)
  if (!path.includes(reference)) {
    const target = inline(document, resolveReference(document, reference), [...path, reference], found)
    return withSiblings(target, inlineAll(others))
  }
  found.recursive.add(reference)
  return { ...inlineAll(others), $ref: `#/$defs/${recursiveName}` }
}

/** OpenAPI 3.1 applies the keywords next to a reference. Annotations replace those of the target. */
function withSiblings(target: unknown, siblings: Json): unknown {
  const [annotations = [], others = []] = [true, false].map((kind) =>
    Object.entries(siblings).filter(([keyword]) => isAnnotation(keyword) === kind),
  )
  const narrowed = others.length === 0 ? target : { allOf: [target, Object.fromEntries(others)] }
  return isRecord(narrowed) ? { ...narrowed, ...Object.fromEntries(annotations) } : narrowed
}

/** Throws a TypeError for a schema that is too large or too deep. Aliases of YAML count as often as they are used. */
function assertBounded(schema: unknown): void {
  let parts = 0
  const visit = (value: unknown, depth: number): void => {
    parts += 1
    assertLimits(parts, depth)
    if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) visit(each, depth + 1)
  }
  visit(schema, 0)
}

/** Throws a TypeError for a definition that applies to a value again and again, such as `allOf: [itself]`. */
function assertDescends(schema: unknown): void {
  if (!isRecord(schema)) return
  if (schema.$ref !== undefined) throw new TypeError('a schema refers to itself, but not for a field or an item')
  for (const keyword of combinations) for (const part of [schema[keyword]].flat()) assertDescends(part)
}

/**
 * Adds `additionalProperties: false` to the objects of a request in its OpenAPI document. A part of a combination does not
 * declare the fields of the others.
 */
function withStrictObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withStrictObjects)
  if (!isRecord(value) || 'allOf' in value) return value
  const members = convertParts(value, withStrictObjects)
  return isRecord(value.properties) && value.additionalProperties === undefined && !isCombination(value)
    ? { ...members, additionalProperties: false }
    : members
}

function isCombination(schema: Json): boolean {
  return combinations.some((keyword) => keyword in schema)
}

/** The fields of an object have schemas, because `confirms` and pages need them. */
function fieldsOf(
  { type, properties, required: names, ...others }: Json,
  schema: CheckedSchema,
): z.ZodType | undefined {
  if (type !== 'object' || !isRecord(properties) || isCombination(others)) return undefined
  return z.looseObject(
    Object.fromEntries(
      Object.entries(properties)
        .filter(([, field]) => !schema.isHidden(field))
        .map(([name, field]) => {
          const zod = withDefault(described(z.unknown().check(checkWith(schema, field)), field), field)
          return [name, Array.isArray(names) && names.includes(name) ? zod : zod.optional()]
        }),
    ),
  )
}
