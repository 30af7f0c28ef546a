import { isJsonObject, type Json, type JsonObject, mapMembers, reference } from './json.ts'
import { singular, TakenNames, toPascalCase } from './names.ts'
import { inBatches } from './schemas.ts'

/** Members whose values are not schemas. */
const skipped = new Set(['x-portico', 'example', 'examples', 'default', 'enum', 'const', 'headers'])

interface Found {
  schema: JsonObject
  /** The title, or the name of the property or parameter. */
  name: string
  /** Name of the first component or operation that contains it. */
  owner: string
  count: number
  /** Whether it is an alternative of a union. */
  isAlternative: boolean
}

interface Owned {
  /** Name of the operation in the names of components. */
  owner: string
  operation: JsonObject
}

/**
 * Moves enums, alternatives of unions, schemas with a title, and schemas that occur more than once to components, so that
 * generators create one type for each. A component is named by its title, or after the property or parameter.
 */
export async function hoistInlineSchemas<T extends Owned>(
  schemas: Record<string, JsonObject>,
  operations: readonly T[],
): Promise<{ schemas: Record<string, JsonObject>; operations: T[] }> {
  const found = new Map<string, Found>()
  for await (const [name, schema] of inBatches(Object.entries(schemas))) collect(found, schema, name)
  for await (const { owner, operation } of inBatches(operations)) collect(found, operation, owner)
  const names = chooseNames(found, Object.keys(schemas))
  const toReference = (object: JsonObject): JsonObject | undefined => {
    const name = isNameable(object) ? names.get(JSON.stringify(object)) : undefined
    return name === undefined ? undefined : reference('schemas', name)
  }
  const hoisted = [...found].flatMap(([text, { schema }]): [string, JsonObject][] => {
    const name = names.get(text)
    return name === undefined ? [] : [[name, schema]]
  })
  const changed: Record<string, JsonObject> = {}
  for await (const [name, schema] of inBatches([...Object.entries(schemas), ...hoisted]))
    changed[name] = mapMembers(schema, toReference)
  const replaced: T[] = []
  for await (const each of inBatches(operations))
    replaced.push({ ...each, operation: mapMembers(each.operation, toReference) })
  return { schemas: changed, operations: replaced }
}

/** A title such as `Language` is the name of a schema. */
export function titleOf({ title }: JsonObject): string | undefined {
  return typeof title === 'string' && /^[A-Z]\w+$/.test(title) ? title : undefined
}

/** `owner` is the name of the component or operation. */
function collect(found: Map<string, Found>, root: Json, owner: string): void {
  const visit = (value: Json, name: string, isAlternative = false): void => {
    if (Array.isArray(value)) {
      for (const each of value) visit(each, name)
      return
    }
    if (!isJsonObject(value)) return
    if (value !== root && isNameable(value)) {
      const text = JSON.stringify(value)
      const known = found.get(text) ?? { schema: value, name: titleOf(value) ?? name, owner, count: 0, isAlternative }
      found.set(text, { ...known, count: known.count + 1 })
    }
    for (const [key, member] of Object.entries(value)) {
      if (skipped.has(key)) continue
      if ((key === 'oneOf' || key === 'anyOf') && Array.isArray(member))
        for (const [place, each] of member.entries()) {
          const isObject = isJsonObject(each) && each.type === 'object'
          visit(each, isObject ? nameOfAlternative(each, place) : name, isObject)
        }
      else if (key === 'properties' && isJsonObject(member))
        for (const [property, schema] of Object.entries(member)) visit(schema, toPascalCase(property))
      // The schema of a parameter is named after the parameter.
      else if (key === 'schema' && typeof value.name === 'string') visit(member, toPascalCase(value.name))
      else visit(member, key === 'items' ? singular(name) : name)
    }
  }
  visit(root, '')
}

/** Generators create one type for each of these. */
function isNameable({ type, properties, enum: values }: JsonObject): boolean {
  return (type === 'object' && properties !== undefined) || (type === 'string' && Array.isArray(values))
}

/** An alternative is named after its constant, such as `FLOWS`. */
function nameOfAlternative({ properties }: JsonObject, place: number): string {
  const constants = Object.values(isJsonObject(properties) ? properties : {}).flatMap((each) =>
    isJsonObject(each) && typeof each.const === 'string' ? [each.const] : [],
  )
  return toPascalCase(constants[0]?.toLowerCase() ?? `alternative_${place + 1}`)
}

/** Of different schemas with the same name, the one that is most common keeps it. The others add their owner's name. */
function chooseNames(found: ReadonlyMap<string, Found>, reserved: Iterable<string>): Map<string, string> {
  const isShared = ({ schema, count, isAlternative }: Found) =>
    isAlternative || schema.enum !== undefined || count > 1 || titleOf(schema) !== undefined
  const shared = [...found].filter(([, each]) => isShared(each))
  const totals = new Map<string, number>()
  for (const [, { name, count }] of shared) totals.set(name, (totals.get(name) ?? 0) + count)
  const taken = new TakenNames(reserved)
  const names = new Map<string, string>()
  for (const [text, { name, owner, count, isAlternative }] of shared) {
    const isMain = count > (totals.get(name) ?? 0) - count
    const candidates = [...(isMain && !isAlternative ? [name] : []), `${owner}${name}`].map(toComponentName)
    const chosen = candidates.find((each) => each !== '' && !taken.has(each))
    if (chosen === undefined) continue
    taken.add(chosen)
    names.set(text, chosen)
  }
  return names
}

/** Properties can have any characters. */
function toComponentName(text: string): string {
  return text.replaceAll(/[^\w.-]/g, '')
}
