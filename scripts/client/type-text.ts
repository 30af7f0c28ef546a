/* Writes JSON schemas as TypeScript types. */
import { codedFamilies } from '../../src/contract/index.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/openapi/json.ts'

/** Returns a comment. `indent` precedes each of its lines. */
export function comment(lines: readonly string[], indent = ''): string {
  const safe = lines.map((line) => line.replaceAll('*/', '*\\/'))
  if (safe.length === 0) return ''
  if (safe.length === 1) return `${indent}/** ${safe[0]} */\n`
  return [`${indent}/**`, ...safe.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */\n`].join('\n')
}

/** Domains outside the package declare further flow types in `PorticoLedger`. */
export function codesText(codes: readonly Json[]): string {
  return JSON.stringify(codes) === JSON.stringify(codedFamilies.get('flowType')?.codes)
    ? 'FlowTypeCode'
    : unionOf(codes.map(literal))
}

/** Writes the members of an object. `exactOptionalPropertyTypes` would otherwise reject an explicit undefined. */
export function membersText(
  schema: JsonObject,
  typeOf: (schema: JsonObject, indent: string, name: string) => string,
  indent = '',
): string {
  return Object.entries(isJsonObject(schema.properties) ? schema.properties : {})
    .map(([name, member]) => {
      if (!isJsonObject(member)) throw new TypeError(`${name} has no schema`)
      const description = typeof member.description === 'string' ? [member.description] : []
      const type = typeOf(member, `${indent}  `, name)
      const optional = isRequired(schema, name) ? '' : '?'
      return `${comment(description, `${indent}  `)}${indent}  ${name}${optional}: ${type}${optional && ' | undefined'}\n`
    })
    .join('')
}

/** Throws a TypeError for an unknown kind of schema. */
export function typeText(schema: JsonObject, indent = ''): string {
  const { type, $ref, enum: values, items } = schema
  const options = schema.anyOf ?? schema.oneOf
  if (typeof $ref === 'string') return nameOfReference($ref)
  if (schema.const !== undefined) return literal(schema.const)
  if (Array.isArray(values) && values.length > 0) return codesText(values)
  if (Array.isArray(options))
    return unionOf(options.map((option) => (isJsonObject(option) ? typeText(option, indent) : 'unknown')))
  if (Array.isArray(type)) return unionOf(type.map((each) => typeText({ ...schema, type: each }, indent)))
  if (type === 'string' || type === 'boolean' || type === 'null') return type
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'object') return objectText(schema, indent)
  if (type === 'array' && isJsonObject(items)) {
    const item = typeText(items, indent)
    return /[|\n]/.test(item) ? `Array<${item}>` : `${item}[]`
  }
  if (type === undefined) return 'unknown'
  throw new TypeError(`no type for ${JSON.stringify(schema)}`)
}

function unionOf(types: readonly string[]): string {
  return [...new Set(types)].join(' | ')
}

function literal(value: Json): string {
  return typeof value === 'string' ? `'${value}'` : JSON.stringify(value)
}

function isRequired({ required }: JsonObject, name: string): boolean {
  return Array.isArray(required) && required.includes(name)
}

function nameOfReference(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

function objectText(schema: JsonObject, indent: string): string {
  const { properties, additionalProperties } = schema
  if (!isJsonObject(properties))
    return `Record<string, ${isJsonObject(additionalProperties) ? typeText(additionalProperties, indent) : 'unknown'}>`
  if (isPage(properties) && isJsonObject(properties.items) && isJsonObject(properties.items.items))
    return `Page<${typeText(properties.items.items, indent)}>`
  // An index signature includes the named properties, so it cannot be narrower.
  const others = isJsonObject(additionalProperties) ? `${indent}  [name: string]: unknown\n` : ''
  return `{\n${membersText(schema, typeText, indent)}${others}${indent}}`
}

function isPage({ items, pagination }: JsonObject): boolean {
  return isJsonObject(items) && isJsonObject(pagination) && pagination.$ref === '#/components/schemas/Pagination'
}
