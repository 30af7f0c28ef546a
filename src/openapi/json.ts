/** JSON as the document is made of it. */
export type Json = null | boolean | number | string | Json[] | JsonObject
export interface JsonObject {
  [name: string]: Json
}

const isJson = (value: unknown): value is Json =>
  value === null ||
  ['boolean', 'number', 'string'].includes(typeof value) ||
  (Array.isArray(value) ? value.every(isJson) : isObject(value))

/** A plain object whose members are JSON all the way down. */
const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isJson)

/** What zod or a file gives, as JSON of ours; members that are undefined are left out. */
export const toJsonObject = (value: unknown): JsonObject => {
  const plain: unknown = JSON.parse(JSON.stringify(value))
  if (!isObject(plain)) throw new TypeError('no JSON object')
  return plain
}

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

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
