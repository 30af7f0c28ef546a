import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { canonicalJson, isRecord } from '../kernel/index.ts'
import { checkLengthsFirst } from './slow-patterns.ts'

type Json = Record<string, unknown>
type Issue = z.core.$ZodIssue

/** Their values are the numbers that JSON has, except that `int32` is checked. */
export const numberFormats: ReadonlySet<string> = new Set(['int32', 'int64', 'float', 'double'])

const keywordsOfType: readonly (readonly [type: string, keywords: readonly string[]])[] = [
  [
    'object',
    [
      ...['properties', 'required', 'patternProperties', 'additionalProperties'],
      ...['minProperties', 'maxProperties', 'propertyNames'],
    ],
  ],
  ['array', ['items', 'prefixItems', 'minItems', 'maxItems', 'uniqueItems', 'contains']],
  ['string', ['pattern', 'minLength', 'maxLength', 'format']],
  ['number', ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']],
]

/** The types that a schema allows: its own, or the one that its keywords imply. Undefined if it allows all. */
export function typesOf(schema: Record<string, unknown>): readonly unknown[] | undefined {
  if (schema.type !== undefined) return Array.isArray(schema.type) ? schema.type : [schema.type]
  if ('enum' in schema || 'const' in schema) return undefined
  const implied = keywordsOfType.find(([, keywords]) => keywords.some((keyword) => keyword in schema))?.[0]
  if (implied === undefined) return undefined
  return [implied === 'string' && numberFormats.has(String(schema.format)) ? 'number' : implied]
}

const ofText = ['minLength', 'maxLength', 'pattern', 'format']
const ofNumber = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf']
const int32 = { type: 'integer', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 } as const

/** A schema whose keywords `assertKeywords` accepts, without references except to its one definition. */
export class CheckedSchema {
  readonly root: Json
  readonly io: 'input' | 'output'
  readonly #scalars = new WeakMap<Json, Partial<Record<string, z.ZodType>>>()
  readonly #patterns = new Map<string, RegExp>()
  readonly #ids = new WeakMap<object, number>()
  #lastId = 0

  constructor(root: Json, io: 'input' | 'output') {
    this.root = root
    this.io = io
  }

  /** The target of a reference, without the keywords next to it. */
  targetOf({ $ref }: Json): unknown[] {
    return typeof $ref === 'string' ? [record(this.root.$defs)[$ref.replace('#/$defs/', '')]] : []
  }

  scalar(schema: Json, type: 'string' | 'number'): z.ZodType {
    const scalars = this.#scalars.get(schema) ?? {}
    this.#scalars.set(schema, scalars)
    scalars[type] ??= toScalar(schema, type)
    return scalars[type]
  }

  /** Equal for equal sets of schemas. */
  keyOf(schemas: readonly unknown[]): string {
    const ids = schemas.filter(isRecord).map((schema) => {
      const id = this.#ids.get(schema) ?? ++this.#lastId
      this.#ids.set(schema, id)
      return id
    })
    return [...new Set(ids)].sort((one, other) => one - other).join()
  }

  /** The schemas that a schema has for a field. */
  schemasOfField({ properties, patternProperties, additionalProperties }: Json, name: string): unknown[] {
    const named = isRecord(properties) && Object.hasOwn(properties, name) ? [properties[name]] : []
    const matching = Object.entries(record(patternProperties))
      .filter(([pattern]) => this.#pattern(pattern).test(name))
      .map(([, schema]) => schema)
    const found = [...named, ...matching]
    return found.length > 0 || additionalProperties === undefined || additionalProperties === false
      ? found
      : [additionalProperties]
  }

  /** A `readOnly` field is not part of requests, and a `writeOnly` field not of replies. */
  isHidden(schema: unknown): boolean {
    if (!isRecord(schema)) return false
    if (schema[this.io === 'input' ? 'readOnly' : 'writeOnly'] === true) return true
    return [...this.targetOf(schema), ...list(schema.allOf)].some((part) => this.isHidden(part))
  }

  #pattern(source: string): RegExp {
    const pattern = this.#patterns.get(source) ?? new RegExp(source)
    this.#patterns.set(source, pattern)
    return pattern
  }
}

interface Result {
  issue: Issue | undefined
  /** The schema itself, the parts of its `allOf`, and its alternatives that match the value. */
  applied: readonly Json[]
}

interface Picked {
  value: unknown
  /** The first undeclared field. */
  undeclared: Issue | undefined
}

/**
 * Checks one value. Evaluates a schema once per value, because the time of a recursive schema would otherwise double with
 * each level of the value.
 */
export class Evaluation {
  readonly #schema: CheckedSchema
  readonly #results = new Map<object, Map<unknown, Result>>()
  readonly #picked = new Map<object, Map<string, Picked>>()

  constructor(schema: CheckedSchema) {
    this.#schema = schema
  }

  evaluate(schema: unknown, value: unknown): Result {
    if (schema === false) return { issue: invalid('no value is valid'), applied: [] }
    if (!isRecord(schema)) return { issue: undefined, applied: [] }
    if (typeof value !== 'object' || value === null) return this.#evaluate(schema, value)
    const results = this.#results.get(value) ?? new Map<unknown, Result>()
    this.#results.set(value, results)
    const result = results.get(schema) ?? this.#evaluate(schema, value)
    results.set(schema, result)
    return result
  }

  /**
   * Returns a valid value without its undeclared fields, and with defaults. A field is declared by any of the schemas.
   */
  pick(declared: readonly unknown[], value: unknown): Picked {
    if (typeof value !== 'object' || value === null) return { value, undeclared: undefined }
    const key = this.#schema.keyOf(declared)
    const known = this.#picked.get(value) ?? new Map<string, Picked>()
    this.#picked.set(value, known)
    const picked = known.get(key) ?? this.#pick([...new Set(declared)], value)
    known.set(key, picked)
    return picked
  }

  #evaluate(schema: Json, value: unknown): Result {
    const parts = [...this.#schema.targetOf(schema), ...list(schema.allOf)].map((part) => this.evaluate(part, value))
    const matching = (keyword: string) => list(schema[keyword]).filter((each) => this.#matches(each, value))
    const [any, one] = [matching('anyOf'), matching('oneOf')]
    const combinationIssue = (): Issue | undefined => {
      if (schema.anyOf !== undefined && any.length === 0) return invalid('no alternative of anyOf matches')
      if (schema.oneOf !== undefined && one.length !== 1) return invalid(`${one.length} alternatives of oneOf match`)
      if (schema.not !== undefined && !this.evaluate(schema.not, value).issue)
        return invalid('the schema in not matches')
      return undefined
    }
    return {
      issue: this.#ownIssue(schema, value) ?? first(parts, ({ issue }) => issue) ?? combinationIssue(),
      applied: [
        schema,
        ...[...parts, ...[...any, ...one].map((each) => this.evaluate(each, value))].flatMap((each) => each.applied),
      ],
    }
  }

  /** An alternative of a request must declare all its fields. */
  #matches(schema: unknown, value: unknown): boolean {
    if (this.evaluate(schema, value).issue) return false
    return this.#schema.io === 'output' || !this.pick([schema], value).undeclared
  }

  #ownIssue(schema: Json, value: unknown): Issue | undefined {
    const types = typesOf(schema)
    if (types && !types.some((type) => isOfType(type, value))) return invalid(`must be of type ${types.join(' or ')}`)
    if (Array.isArray(schema.enum) && !schema.enum.some((each) => isDeepStrictEqual(each, value)))
      return invalid('is not a value of enum')
    if ('const' in schema && !isDeepStrictEqual(schema.const, value)) return invalid('is not the value of const')
    if (typeof value === 'string' || typeof value === 'number') {
      const issue = this.#schema.scalar(schema, typeof value === 'string' ? 'string' : 'number').safeParse(value).error
      return issue?.issues[0]
    }
    if (Array.isArray(value)) return this.#arrayIssue(schema, value)
    return isRecord(value) ? this.#objectIssue(schema, value) : undefined
  }

  #arrayIssue(schema: Json, value: readonly unknown[]): Issue | undefined {
    const { minItems, maxItems, uniqueItems, contains, minContains, maxContains } = schema
    if (value.length < Number(minItems ?? 0)) return invalid('has too few items')
    if (value.length > Number(maxItems ?? Infinity)) return invalid('has too many items')
    if (uniqueItems === true && new Set(value.map(canonicalJson)).size < value.length) return invalid('repeats an item')
    if (contains !== undefined) {
      const count = value.filter((each) => !this.evaluate(contains, each).issue).length
      if (count < Number(minContains ?? 1) || count > Number(maxContains ?? Infinity))
        return invalid(`contains ${count} matching items`)
    }
    return first(value, (each, index) =>
      first(schemasOfItem(schema, index), (own) => below(index, this.evaluate(own, each).issue)),
    )
  }

  #objectIssue(schema: Json, value: Json): Issue | undefined {
    const { required, minProperties, maxProperties, propertyNames, additionalProperties } = schema
    const names = Object.keys(value)
    if (names.length < Number(minProperties ?? 0)) return invalid('has too few fields')
    if (names.length > Number(maxProperties ?? Infinity)) return invalid('has too many fields')
    const missing = list(required)
      .map(String)
      .find((name) => !Object.hasOwn(value, name) && !this.#hides([schema], name))
    if (missing !== undefined) return below(missing, invalid('is missing'))
    return first(Object.entries(value), ([name, each]) => {
      const issue = propertyNames === undefined ? undefined : this.evaluate(propertyNames, name).issue
      if (issue) return below(name, issue)
      // A reply loses a hidden field.
      if (this.#hides([schema], name)) return this.#schema.io === 'input' ? undeclaredField(name) : undefined
      const own = this.#schema.schemasOfField(schema, name)
      if (own.length === 0 && additionalProperties === false) return undeclaredField(name)
      return first(own, (part) => below(name, this.evaluate(part, each).issue))
    })
  }

  #hides(schemas: readonly Json[], name: string): boolean {
    return schemas.some((schema) => this.#schema.schemasOfField(schema, name).some((own) => this.#schema.isHidden(own)))
  }

  #pick(declared: readonly unknown[], value: object): Picked {
    // Repeated schemas would double with each level.
    const schemas = [...new Set(declared.flatMap((schema) => this.evaluate(schema, value).applied))]
    let undeclared: Issue | undefined
    const pickPart = (name: string | number, own: readonly unknown[], part: unknown): unknown => {
      const picked = this.pick(own, part)
      undeclared ??= below(name, picked.undeclared)
      return picked.value
    }
    if (Array.isArray(value)) {
      const contained = schemas.flatMap(({ contains }) => (contains === undefined ? [] : [contains]))
      const items = value.map((each: unknown, index) => {
        const own = schemas.flatMap((schema) => schemasOfItem(schema, index))
        return pickPart(index, own.length > 0 ? own : contained, each)
      })
      return { value: items, undeclared }
    }
    const naming = schemas.filter(namesFields)
    if (naming.length === 0) return { value, undeclared }
    const members = Object.entries(value).flatMap(([name, each]): [string, unknown][] => {
      const own = naming.flatMap((schema) => this.#schema.schemasOfField(schema, name))
      if (own.length > 0 && !this.#hides(naming, name)) return [[name, pickPart(name, own, each)]]
      undeclared ??= undeclaredField(name)
      return []
    })
    return { value: { ...this.#defaultsOf(naming), ...Object.fromEntries(members) }, undeclared }
  }

  #defaultsOf(schemas: readonly Json[]): Json {
    const fields = schemas.flatMap(({ properties }) => Object.entries(record(properties)))
    return Object.fromEntries(
      fields.flatMap(([name, own]) =>
        isRecord(own) && own.default !== undefined && !this.#schema.isHidden(own)
          ? [[name, structuredClone(own.default)]]
          : [],
      ),
    )
  }
}

/** An undeclared field of a request is an issue. A reply loses it. */
export function checkWith(schema: CheckedSchema, part: unknown): z.core.CheckFn<unknown> {
  return (payload) => {
    const { value } = payload
    const evaluation = new Evaluation(schema)
    const report = (issue: Issue): void => {
      payload.issues.push({ ...issue, input: undefined })
    }
    const { issue } = evaluation.evaluate(part, value)
    if (value === undefined) report(invalid('is missing'))
    else if (issue) report(issue)
    else {
      const picked = evaluation.pick([part], value)
      if (schema.io === 'input' && picked.undeclared) report(picked.undeclared)
      payload.value = picked.value
    }
  }
}

function record(value: unknown): Json {
  return isRecord(value) ? value : {}
}

function toScalar(schema: Json, type: 'string' | 'number'): z.ZodType {
  const zod = z.fromJSONSchema({ type, ...pick(schema, type === 'string' ? ofText : ofNumber) })
  checkLengthsFirst(zod)
  return type === 'number' && schema.format === 'int32' ? zod.and(z.fromJSONSchema(int32)) : zod
}

function pick(schema: Json, names: readonly string[]): Json {
  return Object.fromEntries(names.flatMap((name) => (name in schema ? [[name, schema[name]]] : [])))
}

function list(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}

function invalid(message: string): Issue {
  return { code: 'custom', message, path: [] }
}

/** Returns the first result that is not undefined. */
function first<Item, Found>(items: readonly Item[], find: (item: Item, index: number) => Found | undefined) {
  for (const [index, item] of items.entries()) {
    const found = find(item, index)
    if (found !== undefined) return found
  }
  return undefined
}

function isOfType(type: unknown, value: unknown): boolean {
  if (type === 'object') return isRecord(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'null') return value === null
  if (type === 'integer') return Number.isSafeInteger(value)
  return typeof value === type
}

function schemasOfItem({ prefixItems, items }: Json, index: number): unknown[] {
  const positional = list(prefixItems)
  if (index < positional.length) return [positional[index]]
  return items === undefined ? [] : [items]
}

function below(name: string | number, issue: Issue | undefined): Issue | undefined {
  return issue && { ...issue, path: [name, ...issue.path] }
}

function undeclaredField(name: string): Issue {
  return {
    code: 'unrecognized_keys',
    message: `undeclared field ${name}`,
    keys: [name],
    path: [],
  }
}

/** A schema without these keywords, such as `{ type: object }`, declares every field. */
function namesFields({ properties, patternProperties, additionalProperties }: Json): boolean {
  return isRecord(properties) || isRecord(patternProperties) || additionalProperties !== undefined
}
