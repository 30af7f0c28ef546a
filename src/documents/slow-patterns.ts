import { isSafePattern } from 'redos-detector'
import { z } from 'zod'
import { dotString, irregularDotString } from '../contract/account-fields.ts'
import { isRecord } from '../kernel/index.ts'

/*
 * A pattern that backtracks without a bound blocks the process: `^(\w+\s?)*$` takes seconds for 29 characters. See
 * docs/reference/patterns.md.
 */

/** Ordinary patterns take up to 50 steps. The numbers bound the check itself, and a pattern beyond them is refused. */
const limits = { maxScore: 200, maxSteps: 5_000, timeout: 5_000 }

/** An escape or a character class, except a backreference. */
const literal = /\\[^1-9k]|\[(?:\\.|[^\]\\])*\]/gs
/** The check accepts some that are quadratic, such as `^(?:.(?!.*!))*$`. */
const lookaroundOrReference = /\(\?<?[=!]|\\[1-9k]/

const known = new Map<string, boolean>()

/** Whether the time of a pattern grows with the length of the text only. False for lookaround, or if the check gives up. */
export function isLinearPattern({ source, flags }: RegExp): boolean {
  const key = `${flags}/${source}`
  const checked = known.get(key)
  if (checked !== undefined) return checked
  let isLinear = false
  try {
    isLinear =
      !lookaroundOrReference.test(source.replace(literal, '')) &&
      isSafePattern(source, {
        caseInsensitive: flags.includes('i'),
        dotAll: flags.includes('s'),
        multiLine: flags.includes('m'),
        unicode: /[uv]/.test(flags),
        ...limits,
      }).safe
  } catch {
    // The check does not support every syntax.
  }
  known.set(key, isLinear)
  return isLinear
}

export interface FoundPattern {
  /** Such as `body.items.name`. */
  field: string
  pattern: RegExp
}

/** The check gives up on some of them, although they are linear. */
const measured: ReadonlySet<string> = new Set(
  [
    ...Object.values(z.regexes).filter((pattern: unknown) => pattern instanceof RegExp),
    ...[{}, { offset: true }, { local: true }].map((options) => z.regexes.datetime(options)),
    dotString,
    irregularDotString,
  ].map(String),
)

/** Members of a zod definition that do not name a field. */
const unnamed = new Set(['shape', 'innerType', 'in', 'out', 'options', 'checks', 'element', 'left', 'right', 'pattern'])

/** Omits the formats of zod itself, such as `z.ipv4()`, and of `mailbox`: a test measures them. */
export function patternsOf(schema: z.ZodType, field: string): FoundPattern[] {
  const found: FoundPattern[] = []
  visitParts(schema, field, (pattern, place) => {
    if (pattern instanceof RegExp && !measured.has(String(pattern))) found.push({ field: place, pattern })
  })
  return found
}

/** Checks the length of a text before its pattern. Otherwise, zod continues after a text that is too long. */
export function checkLengthsFirst(schema: z.ZodType): void {
  visitParts(schema, '', (part) => {
    if ('check' in part && part.check === 'max_length') Object.assign(part, { abort: true })
  })
}

/** Each has a message, for an operation `key` of an extension. */
export function slowPatternErrors(schema: z.ZodType, field: string): string[] {
  return patternsOf(schema, field)
    .filter(({ pattern }) => !isLinearPattern(pattern))
    .map(({ field: place, pattern }) => `${place}: ${slowPatternError(pattern.source)}`)
}

/** The names in these are not keywords. */
export const mapsOfSchemas: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs'])
/** Values of these keywords are data. */
const dataKeywords: ReadonlySet<string> = new Set([...['enum', 'const', 'default', 'required', 'example', 'examples']])

/** Converts the schemas inside a schema. */
export function convertParts(schema: object, convert: (part: unknown) => unknown): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, each]) => {
      if (dataKeywords.has(keyword)) return [keyword, each]
      if (!mapsOfSchemas.has(keyword) || !isRecord(each)) return [keyword, convert(each)]
      return [keyword, Object.fromEntries(Object.entries(each).map(([name, own]) => [name, convert(own)]))]
    }),
  )
}

/** Throws a TypeError for the first slow `pattern` or name in `patternProperties` of a JSON Schema, with its place. */
export function assertLinearPatterns(schema: unknown, place = ''): void {
  const assertLinear = (source: string, field: string): void => {
    const pattern = new RegExp(source)
    if (!measured.has(String(pattern)) && !isLinearPattern(pattern))
      throw new TypeError(`${field}: ${slowPatternError(source)}`)
  }
  if (Array.isArray(schema)) for (const each of schema) assertLinearPatterns(each, place)
  if (!isRecord(schema)) return
  for (const [keyword, each] of Object.entries(schema)) {
    const field = place === '' ? keyword : `${place}.${keyword}`
    if (keyword === 'pattern' && typeof each === 'string') assertLinear(each, field)
    else if (mapsOfSchemas.has(keyword) && isRecord(each))
      for (const [name, own] of Object.entries(each)) {
        if (keyword === 'patternProperties') assertLinear(name, field)
        assertLinearPatterns(own, `${field}.${name}`)
      }
    else if (!dataKeywords.has(keyword)) assertLinearPatterns(each, field)
  }
}

/** Calls `onPart` with every definition and regular expression of a zod schema, also of lazy and recursive parts. */
function visitParts(schema: z.ZodType, field: string, onPart: (part: object, field: string) => void): void {
  const seen = new Set<unknown>()
  const visit = (value: unknown, place: string): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return
    seen.add(value)
    if (value instanceof z.core.$ZodLazy) visit(value._zod.innerType, place)
    else if (value instanceof z.core.$ZodType || value instanceof z.core.$ZodCheck) visit(value._zod.def, place)
    else if (Array.isArray(value)) for (const each of value) visit(each, place)
    else if (value instanceof RegExp) onPart(value, place)
    else if (isPlain(value)) {
      onPart(value, place)
      for (const [name, each] of Object.entries(value)) visit(each, unnamed.has(name) ? place : `${place}.${name}`)
    }
  }
  visit(schema, field)
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function slowPatternError(pattern: string): string {
  return `the pattern ${pattern.length > 80 ? `${pattern.slice(0, 80)}…` : pattern} can take super-linear time; see docs/reference/patterns.md`
}
