/* Writes the schemas of replies for zod/mini, whose functions a bundler can omit one by one. */
import { z } from 'zod'

/** Names the schemas of objects, so that operations share them and an object can contain itself. */
export class ReplyChecks {
  readonly #names = new Map<z.ZodObject, string>()
  readonly #declarations: string[] = []

  /** The statements that declare the named schemas. */
  get declarations(): string {
    return this.#declarations.join('\n')
  }

  /** Throws for a schema that replies do not have yet. */
  check(schema: z.core.$ZodType): string {
    if (schema instanceof z.ZodObject) return this.#nameOf(schema)
    if (schema instanceof z.ZodNullable) return call('nullable', this.check(schema.unwrap()))
    if (schema instanceof z.ZodOptional) return call('optional', this.check(schema.unwrap()))
    if (schema instanceof z.ZodArray) return call('array', this.check(schema.element))
    if (schema instanceof z.ZodRecord) return call('record', this.check(schema.keyType), this.check(schema.valueType))
    if (schema instanceof z.ZodEnum) return call('enum', JSON.stringify(schema.options))
    if (schema instanceof z.ZodLiteral) return call('literal', JSON.stringify([...schema.values]))
    if (schema instanceof z.ZodISODateTime && !schema._zod.def.offset) return call('iso.datetime')
    if (schema instanceof z.ZodString) return stringCheck(schema)
    if (schema instanceof z.ZodNumberFormat && schema._zod.def.format === 'safeint' && !schema._zod.def.checks)
      return call('int')
    if (schema instanceof z.ZodNumber && !schema.format && !schema._zod.def.checks?.length) return call('number')
    for (const [kind, name] of simple) if (schema instanceof kind) return call(name)
    throw new TypeError(`replies: write zod/mini for ${schema._zod.def.type}`)
  }

  #nameOf(schema: z.ZodObject): string {
    const known = this.#names.get(schema)
    if (known) return known
    if (schema._zod.def.catchall) throw new TypeError('replies: objects drop other fields')
    const name = `Reply${this.#names.size}`
    this.#names.set(schema, name)
    // A getter, because the object can contain itself.
    const fields = Object.entries(schema.shape).map(([field, value]) => {
      const text = this.check(value)
      return new RegExp(`\\b${name}\\b`).test(text) ? `get ${field}() { return ${text} }` : `${field}: ${text}`
    })
    this.#declarations.push(`const ${name} = ${call('object', `{ ${fields.join(', ')} }`)}`)
    return name
  }
}

const simple = [
  [z.ZodBoolean, 'boolean'],
  [z.ZodNull, 'null'],
  [z.ZodUnknown, 'unknown'],
] as const

function call(name: string, ...args: string[]): string {
  return `/* @__PURE__ */ z.${name}(${args.join(', ')})`
}

function stringCheck({ _zod: { def } }: z.ZodString): string {
  const checks = (def.checks ?? []).map(({ _zod }) => {
    if (_zod.def instanceof Object && 'pattern' in _zod.def && _zod.def.pattern instanceof RegExp)
      return call('regex', String(_zod.def.pattern))
    throw new TypeError(`replies: write zod/mini for the check ${_zod.def.check}`)
  })
  return checks.length === 0 ? call('string') : `/* @__PURE__ */ ${call('string')}.check(${checks.join(', ')})`
}
