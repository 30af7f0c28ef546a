import { z } from 'zod'
import { isExactNumber, isRecord } from '../kernel/index.ts'
import { DeclaredFields } from './declared-fields.ts'
import { convertParts, withImpliedTypes } from './implied-types.ts'
import { assertLinearPatterns, checkLengthsFirst } from './slow-patterns.ts'

/** OpenAPI shows this source of a converted schema. */
export const sourceKey = 'x-json-schema'

type Json = Record<string, unknown>

const decodePointer = (part: string): string => part.replaceAll('~1', '/').replaceAll('~0', '~')

/** Twenty times the largest operation of the interface. */
const maxParts = 20_000
const maxDepth = 64

const assertLimits = (parts: number, depth: number): void => {
  if (parts > maxParts) throw new TypeError(`has more than ${maxParts} parts, with its references replaced`)
  if (depth > maxDepth) throw new TypeError(`is nested more than ${maxDepth} times`)
}

/** Throws a TypeError for a schema that is too large or too deep. Aliases of YAML count as often as they are used. */
const assertBounded = (schema: unknown): void => {
  let parts = 0
  const visit = (value: unknown, depth: number): void => {
    parts += 1
    assertLimits(parts, depth)
    if (typeof value === 'object' && value !== null) for (const each of Object.values(value)) visit(each, depth + 1)
  }
  visit(schema, 0)
}

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

/** Inlines references. A recursive reference becomes a reference to `$defs`, and its target is added to `found`. */
const inline = (document: Json, value: unknown, path: readonly string[], found: Inlined): unknown => {
  found.count(path.length)
  if (Array.isArray(value)) return value.map((each) => inline(document, each, path, found))
  if (!isRecord(value)) return value
  if (typeof value.$ref !== 'string')
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, inline(document, each, path, found)]))
  const reference = value.$ref
  if (!path.includes(reference))
    return inline(document, resolveReference(document, reference), [...path, reference], found)
  found.recursive.add(reference)
  return { $ref: `#/$defs/${recursiveName}` }
}

/** Replaces all references with their targets. A recursive schema gets one definition in `$defs`. */
export const inlineReferences = (document: Json, value: unknown): unknown => {
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

/** Adds `additionalProperties: false` to all objects of a request, because requests reject unknown fields. */
const withStrictObjects = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withStrictObjects)
  if (!isRecord(value)) return value
  const members = convertParts(value, withStrictObjects)
  return isRecord(value.properties) && value.additionalProperties === undefined
    ? { ...members, additionalProperties: false }
    : members
}

/** Rewrites `not: { pattern }`, which zod cannot convert, to a pattern with a negative lookahead. Drops annotations. */
const toConvertible = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(toConvertible)
  if (!isRecord(value)) return value
  const { not, examples: _, example: __, ...rest } = value
  const members = convertParts(rest, toConvertible)
  if (not === undefined) return members
  if (!isRecord(not) || typeof not.pattern !== 'string') throw new TypeError('`not` is only supported with a pattern')
  const length = typeof rest.maxLength === 'number' ? { maxLength: rest.maxLength } : {}
  const excluded = { type: 'string', ...length, pattern: `^(?![\\s\\S]*?(?:${not.pattern}))` }
  return { allOf: [members, excluded] }
}

const convert = (schema: Json): z.ZodType => {
  const converted = withImpliedTypes(toConvertible(schema))
  if (!isRecord(converted)) throw new TypeError('must be a JSON Schema object')
  const zod = z.fromJSONSchema(converted)
  checkLengthsFirst(zod)
  return zod
}

/** Zod cannot reject undeclared fields of all combinations of schemas. */
const rejectUndeclared =
  (declared: DeclaredFields): z.core.CheckFn<unknown> =>
  ({ value, issues }) => {
    const undeclared: { path: (string | number)[]; name: string }[] = []
    declared.pick(value, undeclared)
    for (const { path, name } of undeclared)
      issues.push({ code: 'unrecognized_keys', keys: [name], path, input: isRecord(value) ? value : {} })
  }

/**
 * A request with an undeclared field is invalid. A reply loses it. Throws for a keyword that zod cannot express, and for
 * a slow pattern.
 */
export const toZod = (source: unknown, io: 'input' | 'output'): z.ZodType => {
  if (!isRecord(source)) throw new TypeError('must be a JSON Schema object')
  assertBounded(source)
  const strict = withStrictObjects(source)
  const schema = io === 'input' && isRecord(strict) ? strict : source
  assertLinearPatterns(schema)
  const declared = new DeclaredFields(source, convert)
  const converted = convert(schema)
  const checked =
    io === 'input' ? converted.check(rejectUndeclared(declared)) : converted.overwrite((value) => declared.pick(value))
  return checked.meta({ [sourceKey]: schema })
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
