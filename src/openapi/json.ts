import { isRecord } from '../kernel/index.ts'

export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [name: string]: Json
}

type ComponentKind = 'schemas' | 'parameters' | 'responses' | 'headers'

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return isRecord(value)
}

/** Omits undefined members. */
export function toJsonObject(value: unknown): JsonObject {
  return parseJsonObject(JSON.stringify(value))
}

export function parseJsonObject(text: string): JsonObject {
  const json: Json = JSON.parse(text)
  if (!isJsonObject(json)) throw new TypeError('not a JSON object')
  return json
}

export function reference(kind: ComponentKind, name: string): JsonObject {
  return { $ref: `#/components/${kind}/${name}` }
}

/**
 * Does not search the new objects that `change` returns.
 */
export function mapObjects(value: Json, change: (object: JsonObject) => JsonObject | undefined): Json {
  if (Array.isArray(value)) return value.map((item) => mapObjects(item, change))
  return isJsonObject(value) ? (change(value) ?? mapMembers(value, change)) : value
}

/** Like `mapObjects`, but never replaces the object itself. */
export function mapMembers(object: JsonObject, change: (object: JsonObject) => JsonObject | undefined): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, member]) => [name, mapObjects(member, change)]))
}

/** Returns the components to which `from` refers, directly or through components of the same kind, sorted by name. */
export function pickReferenced(all: Record<string, JsonObject>, kind: ComponentKind, from: Json): JsonObject {
  const picked: JsonObject = {}
  const visit = (value: Json): void => {
    for (const name of findReferences(value, kind)) {
      const component = all[name]
      if (name in picked || !component) continue
      picked[name] = component
      visit(component)
    }
  }
  visit(from)
  return Object.fromEntries(Object.entries(picked).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

function findReferences(value: Json, kind: ComponentKind): Set<string> {
  const references = JSON.stringify(value).matchAll(new RegExp(`"\\$ref":"#/components/${kind}/([^"]+)"`, 'g'))
  return new Set(references.map(([, name = '']) => name))
}
