import { isRecord } from '../kernel/index.ts'

/** JSON as the document is made of it. */
export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [name: string]: Json
}

export const isJsonObject = (value: Json | undefined): value is JsonObject => isRecord(value)

/** What zod gives, as JSON; members that are undefined are left out. */
export const toJsonObject = (value: unknown): JsonObject => parseJsonObject(JSON.stringify(value))

export const parseJsonObject = (text: string): JsonObject => {
  const json: Json = JSON.parse(text)
  if (!isJsonObject(json)) throw new TypeError('no JSON object')
  return json
}

export const reference = (kind: 'schemas' | 'parameters' | 'responses' | 'headers', name: string): JsonObject => ({
  $ref: `#/components/${kind}/${name}`,
})

/** The value with other objects in it: where `change` gives one it stands, elsewhere the search goes on inside. */
export const mapObjects = (value: Json, change: (object: JsonObject) => JsonObject | undefined): Json => {
  if (Array.isArray(value)) return value.map((item) => mapObjects(item, change))
  return isJsonObject(value) ? (change(value) ?? mapMembers(value, change)) : value
}

/** The same for an object that itself stays. */
export const mapMembers = (object: JsonObject, change: (object: JsonObject) => JsonObject | undefined): JsonObject =>
  Object.fromEntries(Object.entries(object).map(([name, member]) => [name, mapObjects(member, change)]))

/** Every reference into the components of one kind. */
const pointedTo = (value: Json, kind: string): Set<string> => {
  const references = JSON.stringify(value).matchAll(new RegExp(`"\\$ref":"#/components/${kind}/([^"]+)"`, 'g'))
  return new Set(references.map(([, name = '']) => name))
}

/** The components that something points to, others of the same kind among them. */
export const pickReferenced = (all: Record<string, JsonObject>, kind: string, from: Json): JsonObject => {
  const kept: JsonObject = {}
  const visit = (value: Json): void => {
    for (const name of pointedTo(value, kind)) {
      const component = all[name]
      if (name in kept || !component) continue
      kept[name] = component
      visit(component)
    }
  }
  visit(from)
  return Object.fromEntries(Object.entries(kept).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
