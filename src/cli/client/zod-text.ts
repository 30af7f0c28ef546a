import { isRecord } from '../../kernel/index.ts'

type Json = Readonly<Record<string, unknown>>

/** The function that a written module uses for texts with known values. */
export const openTextDeclaration = `/** Known values. A newer gateway can send others, so give a \`switch\` a default. */
function openText<Known extends string>() {
  return z.custom<Known>((value) => typeof value === 'string')
}
`

/** How a reference is written. */
export interface References {
  nameOf(reference: string): string
  /** Whether the component is declared further below, because it contains itself. */
  isDeclaredLater(reference: string): boolean
}

const unknown = 'z.unknown()'

/**
 * Returns zod code for a JSON schema: its types, fields and required fields. The gateway has already checked formats and
 * limits, and a newer one may have others. Everything else is `z.unknown()`.
 */
export function zodText(schema: unknown, references: References): string {
  if (!isRecord(schema)) return unknown
  const { $ref, allOf, anyOf, oneOf, ...rest } = schema
  const parts = [
    typeof $ref === 'string' ? referenceText($ref, references) : unknown,
    ...(Array.isArray(allOf) ? allOf.map((part) => zodText(part, references)) : []),
    ...[anyOf, oneOf].map((options) => (Array.isArray(options) ? unionText(options, references) : unknown)),
    plainText(rest, references),
  ]
  const [first = unknown, ...others] = new Set(parts.filter((part) => part !== unknown))
  return others.reduce((joined, part) => `z.intersection(${joined}, ${part})`, first)
}

/** Returns the references of a schema, also those of its parts. */
export function referencesOf(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(referencesOf)
  if (!isRecord(schema)) return []
  return Object.entries(schema).flatMap(([name, part]) =>
    name === '$ref' && typeof part === 'string' ? [part] : referencesOf(part),
  )
}

/** In a field, a getter delays the reading of a later declaration. Elsewhere, a recursive type cannot be inferred. */
function referenceText(reference: string, references: References): string {
  const name = references.nameOf(reference)
  return references.isDeclaredLater(reference) ? `z.lazy((): z.ZodType => ${name})` : name
}

function unionText(options: readonly unknown[], references: References): string {
  const isNull = (option: unknown): boolean => isRecord(option) && (option.type === 'null' || option.const === null)
  const texts = [...new Set(options.filter((option) => !isNull(option)).map((option) => zodText(option, references)))]
  const [first = 'z.null()', ...others] = texts
  if (texts.includes(unknown)) return unknown
  const union = others.length === 0 ? first : `z.union([${texts.join(', ')}])`
  return options.some(isNull) && first !== 'z.null()' ? `${union}.nullable()` : union
}

function plainText(schema: Json, references: References): string {
  const { type, const: constant, enum: values } = schema
  if (constant !== undefined) return isLiteral(constant) ? `z.literal(${JSON.stringify(constant)})` : unknown
  if (Array.isArray(values)) return enumText(values)
  if (Array.isArray(type))
    return unionText(
      // Without repetitions, which would double the work at each depth.
      [...new Set(type)].map((each) => ({ ...schema, type: each })),
      references,
    )
  if (type === 'string' || type === 'boolean' || type === 'null') return `z.${type}()`
  if (type === 'integer' || type === 'number') return 'z.number()'
  if (type === 'array' || (type === undefined && schema.items !== undefined))
    return `z.array(${zodText(schema.items, references)})`
  if (type === 'object' || (type === undefined && schema.properties !== undefined))
    return objectText(schema, references)
  return unknown
}

function isLiteral(value: unknown): boolean {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value)
}

function enumText(values: readonly unknown[]): string {
  if (!values.every(isLiteral) || values.length === 0) return unknown
  const texts = values.filter((value) => typeof value === 'string')
  const others = values.filter((value) => typeof value !== 'string')
  const literals = others.length === 0 ? [] : [`z.literal(${JSON.stringify(others)})`]
  const known = texts.length === 0 ? [] : [`openText<${texts.map((text) => JSON.stringify(text)).join(' | ')}>()`]
  return literals.length + known.length > 1
    ? `z.union([${[...known, ...literals].join(', ')}])`
    : [...known, ...literals].join()
}

function objectText({ properties, required, additionalProperties: further }: Json, references: References): string {
  const rest = isRecord(further) ? zodText(further, references) : unknown
  if (!isRecord(properties)) return `z.record(z.string(), ${rest})`
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name)
  const fields = Object.entries(properties).map(([name, field]) => {
    const isLater = referencesOf(field).some(references.isDeclaredLater)
    const text = zodText(field, isLater ? { ...references, isDeclaredLater: () => false } : references)
    const value = isRequired(name) ? text : `${text}.optional()`
    // As a plain key, it would set the prototype.
    const key = name === '__proto__' ? '["__proto__"]' : JSON.stringify(name)
    return isLater ? `get ${key}() { return ${value} }` : `${key}: ${value}`
  })
  const object = `z.object({ ${fields.join(', ')} })`
  return further === true || isRecord(further) ? `${object}.catchall(${rest})` : object
}
