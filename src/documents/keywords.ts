import { z } from 'zod'
import { isRecord } from '../kernel/index.ts'
import { numberFormats, typesOf } from './evaluation.ts'
import { mapsOfSchemas } from './slow-patterns.ts'

const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']

/** The keywords that `evaluation.ts` checks, with the form of their values. */
const checked: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...{ type: isType, enum: Array.isArray, const: () => true },
  ...{ allOf: isList, anyOf: isList, oneOf: isList, not: isSchema, $ref: isText, $defs: isRecord },
  ...{ properties: isRecord, patternProperties: isRecord, additionalProperties: isSchema, propertyNames: isSchema },
  ...{ required: isNames, minProperties: isCount, maxProperties: isCount },
  ...{ items: isSchema, prefixItems: isList, contains: isSchema, minContains: isCount, maxContains: isCount },
  ...{ minItems: isCount, maxItems: isCount, uniqueItems: isFlag },
  ...{ minLength: isCount, maxLength: isCount, pattern: isText, format: isText },
  ...{ minimum: isNumber, maximum: isNumber, exclusiveMinimum: isNumber, exclusiveMaximum: isNumber },
  ...{ multipleOf: (value) => isNumber(value) && Number(value) > 0, readOnly: isFlag, writeOnly: isFlag },
}

/** Describe a schema, and restrict nothing. `evaluation.ts` applies `default`. */
const annotations: ReadonlySet<string> = new Set([
  ...['title', 'description', 'default', 'deprecated', 'example', 'examples', '$comment'],
  ...['discriminator', 'externalDocs', 'xml'],
])

/** Whether a keyword next to `$ref` can replace the keyword of its target. */
export function isAnnotation(keyword: string): boolean {
  return annotations.has(keyword) || keyword.startsWith('x-') || keyword === 'readOnly' || keyword === 'writeOnly'
}

const dialect = 'https://json-schema.org/draft/2020-12/schema'

/** Throws a TypeError for a keyword, at any depth, that `evaluation.ts` does not check. */
export function assertKeywords(schema: unknown, place = ''): void {
  if (!isSchema(schema)) throw new TypeError(`${place}: must be a schema`)
  if (!isRecord(schema)) return
  const below = (name: string): string => (place === '' ? name : `${place}.${name}`)
  for (const [keyword, value] of Object.entries(schema)) {
    assertKeyword(schema, keyword, below(keyword))
    const parts = isRecord(value) && mapsOfSchemas.has(keyword) ? Object.entries(value) : []
    for (const [name, part] of parts) assertKeywords(part, below(`${keyword}.${name}`))
    if (hasSchemas.has(keyword)) for (const part of [value].flat()) assertKeywords(part, below(keyword))
  }
}

const hasSchemas: ReadonlySet<string> = new Set([
  ...['allOf', 'anyOf', 'oneOf', 'not', 'additionalProperties', 'propertyNames', 'items', 'prefixItems', 'contains'],
])

function isType(value: unknown): boolean {
  return (
    types.includes(String(value)) ||
    (Array.isArray(value) && isList(value) && value.every((each) => types.includes(each)))
  )
}

function isList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0
}

function isSchema(value: unknown): boolean {
  return isFlag(value) || isRecord(value)
}

function isFlag(value: unknown): boolean {
  return typeof value === 'boolean'
}

function isText(value: unknown): boolean {
  return typeof value === 'string'
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText)
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number' && Number.isFinite(value)
}

function assertKeyword(schema: Record<string, unknown>, keyword: string, place: string): void {
  const value = schema[keyword]
  const hasForm = checked[keyword]
  if (annotations.has(keyword) || keyword.startsWith('x-') || (keyword === '$schema' && value === dialect)) return
  if (!hasForm) throw new TypeError(`${place}: this keyword is not supported`)
  if (!hasForm(value)) throw new TypeError(`${place}: has an invalid value`)
  if (keyword === 'format' && !isCheckedFormat(schema, String(value)))
    throw new TypeError(`${place}: the format ${value} cannot be checked: use a pattern`)
}

function isCheckedFormat(schema: Record<string, unknown>, format: string): boolean {
  if (typesOf(schema)?.includes('string') === false) return numberFormats.has(format)
  return ['password', 'binary'].includes(format) || !z.fromJSONSchema({ type: 'string', format }).safeParse(' ').success
}
