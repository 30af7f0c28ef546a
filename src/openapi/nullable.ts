import { isJsonObject, type JsonObject, mapMembers } from './json.ts'

/** Of a map of anything it is the other way about: its type with null beside it is read as never null. */
const isAnyMap = ({ additionalProperties: values }: JsonObject): boolean =>
  isJsonObject(values) && Object.keys(values).length === 0

/** `T or null` as one schema of two types: of an `anyOf` with a record in it some generators make no client at all. */
export const foldNull = (schema: JsonObject): JsonObject | undefined => {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return undefined
  const [value, other] = anyOf
  if (!isJsonObject(value) || !isJsonObject(other) || other.type !== 'null') return undefined
  if (typeof value.type !== 'string' || 'enum' in value || 'const' in value || isAnyMap(value)) return undefined
  return mapMembers({ ...rest, ...value, type: [value.type, 'null'] }, foldNull)
}
