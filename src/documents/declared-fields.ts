import type { z } from 'zod'
import { isRecord } from '../kernel/index.ts'

type Json = Record<string, unknown>

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** A schema without these keywords, such as `{ type: object }`, declares every field. */
const namesFields = ({ properties, patternProperties, additionalProperties }: Json): boolean =>
  isRecord(properties) || isRecord(patternProperties) || additionalProperties !== undefined

const schemasOfField = ({ properties, patternProperties, additionalProperties }: Json, name: string): unknown[] => {
  const named = isRecord(properties) && Object.hasOwn(properties, name) ? [properties[name]] : []
  const matching = Object.entries(isRecord(patternProperties) ? patternProperties : {})
    .filter(([pattern]) => new RegExp(pattern).test(name))
    .map(([, schema]) => schema)
  const found = [...named, ...matching]
  return found.length > 0 || additionalProperties === undefined || additionalProperties === false
    ? found
    : [additionalProperties]
}

const schemasOfItem = ({ prefixItems, items }: Json, index: number): unknown[] => {
  const positional = list(Array.isArray(items) ? items : prefixItems)
  if (index < positional.length) return [positional[index]]
  return isRecord(items) ? [items] : []
}

interface Undeclared {
  path: (string | number)[]
  name: string
}

/** The fields that a JSON schema declares, at every depth. `toZod` converts the alternatives of `anyOf` and `oneOf`. */
export class DeclaredFields {
  readonly #root: Json
  readonly #toZod: (schema: Json) => z.ZodType
  readonly #alternatives = new WeakMap<object, z.ZodType>()

  constructor(root: Json, toZod: (schema: Json) => z.ZodType) {
    this.#root = root
    this.#toZod = toZod
  }

  /** Returns a valid value without its undeclared fields, and adds these to `undeclared`. */
  pick(value: unknown, undeclared: Undeclared[] = []): unknown {
    return this.#pick([this.#root], value, [], undeclared)
  }

  #pick(declared: readonly unknown[], value: unknown, path: (string | number)[], undeclared: Undeclared[]): unknown {
    if (typeof value !== 'object' || value === null) return value
    const schemas = declared.flatMap((schema) => this.#applicable(schema, value))
    if (Array.isArray(value))
      return value.map((each: unknown, index) =>
        this.#pick(
          schemas.flatMap((schema) => schemasOfItem(schema, index)),
          each,
          [...path, index],
          undeclared,
        ),
      )
    const naming = schemas.filter(namesFields)
    if (naming.length === 0) return value
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, each]) => {
        const own = naming.flatMap((schema) => schemasOfField(schema, name))
        if (own.length > 0) return [[name, this.#pick(own, each, [...path, name], undeclared)]]
        undeclared.push({ path, name })
        return []
      }),
    )
  }

  /** A schema, the parts of its `allOf`, and its alternatives that match the value. */
  #applicable(schema: unknown, value: unknown): Json[] {
    const target = this.#resolve(schema)
    if (!isRecord(target)) return []
    const matching = [...list(target.anyOf), ...list(target.oneOf)].filter((each) => this.#matches(each, value))
    return [target, ...[...list(target.allOf), ...matching].flatMap((each) => this.#applicable(each, value))]
  }

  #matches(alternative: unknown, value: unknown): boolean {
    if (!isRecord(alternative)) return alternative === true
    const known = this.#alternatives.get(alternative)
    const schema = known ?? this.#toZod({ ...alternative, $defs: this.#root.$defs ?? {} })
    if (!known) this.#alternatives.set(alternative, schema)
    return schema.safeParse(value).success
  }

  /** `inlineReferences` leaves references to `$defs` only. */
  #resolve(schema: unknown): unknown {
    const { $defs } = this.#root
    const name = isRecord(schema) && typeof schema.$ref === 'string' ? schema.$ref.replace('#/$defs/', '') : undefined
    return name !== undefined && isRecord($defs) ? $defs[name] : schema
  }
}
