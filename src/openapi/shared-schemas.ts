import { z } from 'zod'
import type { Catalogue } from '../contract/index.ts'
import type { Operation } from '../kernel/index.ts'
import { titleOf } from './hoist.ts'
import { isJsonObject, type JsonObject, mapMembers, mapObjects, reference } from './json.ts'
import { exportNameOf, singular, TakenNames, toPascalCase } from './names.ts'
import { inBatches, toJsonSchema } from './schemas.ts'

export interface SharedSchemas {
  components: Record<string, JsonObject>
  /** Returns the schema of an operation's `data`. */
  dataOf(operation: Operation): JsonObject
  /** Replaces the parts of a schema that are components. */
  refer(schema: JsonObject): JsonObject
}

/** Verbs before a record's name in an export name. */
const verbs: readonly [RegExp, (rest: string) => string][] = [
  [/^read(?=[A-Z])/, unchanged],
  [/^create(?=[A-Z])/, unchanged],
  [/^list(?=[A-Z])/, singular],
]

const recursion = '#/$defs/__schema0'

/** Compares schemas by their JSON, so the contract needs no annotations. */
export async function shareSchemas(catalogue: Catalogue, reserved: Iterable<string>): Promise<SharedSchemas> {
  const components: Record<string, JsonObject> = {}
  const data = new Map<Operation, JsonObject>()
  const records = new Map<string, { record: JsonObject; operations: Operation[] }>()
  /** Pages by the JSON of their records. */
  const pages = new Map<string, JsonObject>()
  const names = new Map<string, string>()

  for await (const operation of inBatches(catalogue.operations)) {
    if (!(operation.reply instanceof z.ZodType)) continue
    const nodeName = `${toPascalCase(exportNameOf(catalogue, operation))}Node`
    const hoisted = hoistDefinition(toJsonSchema(catalogue, operation.reply, 'output'), nodeName)
    if (hoisted.node) components[nodeName] = hoisted.node
    data.set(operation, hoisted.data)
    const { record, pagination } = splitRecord(hoisted.data)
    if (pagination) names.set(JSON.stringify(pagination), 'Pagination')
    if (record.type !== 'object') continue
    const text = JSON.stringify(record)
    const known = records.get(text)
    if (known) known.operations.push(operation)
    else records.set(text, { record, operations: [operation] })
    if (!pagination) continue
    components.Pagination = pagination
    pages.set(text, hoisted.data)
  }
  const taken = new TakenNames([...reserved, ...Object.keys(components)])
  for (const [text, { record, operations: returning }] of records) {
    const title = titleOf(record)
    const name = title !== undefined && !taken.has(title) ? title : chooseRecordName(catalogue, returning, taken)
    taken.add(name)
    names.set(text, name)
  }
  for (const [text, page] of pages) {
    const name = `${names.get(text)}Page`
    if (taken.has(name)) continue
    taken.add(name)
    names.set(JSON.stringify(page), name)
  }
  const toReference = (object: JsonObject): JsonObject | undefined => {
    const name = names.get(JSON.stringify(object))
    return name === undefined ? undefined : reference('schemas', name)
  }
  for (const schema of [...[...records.values()].map(({ record }) => record), ...pages.values()]) {
    const name = names.get(JSON.stringify(schema))
    if (name !== undefined) components[name] = mapMembers(schema, toReference)
  }
  const refer = (schema: JsonObject): JsonObject => {
    const referring = mapObjects(schema, toReference)
    return isJsonObject(referring) ? referring : {}
  }
  return { components, dataOf: (operation) => refer(data.get(operation) ?? {}), refer }
}

function unchanged(name: string): string {
  return name
}

/** Moves the definition of a recursive schema, which zod puts in `$defs`, to a component. */
function hoistDefinition(reply: JsonObject, name: string): { data: JsonObject; node: JsonObject | null } {
  const { $defs, ...rest } = reply
  const definition = isJsonObject($defs) ? $defs.__schema0 : null
  if (!isJsonObject(definition)) return { data: reply, node: null }
  const rename = (object: JsonObject) => (object.$ref === recursion ? reference('schemas', name) : undefined)
  return { data: mapMembers(rest, rename), node: mapMembers(definition, rename) }
}

/** Names the item of a list and the pagination, or the whole reply. */
function splitRecord(reply: JsonObject): { record: JsonObject; pagination: JsonObject | null } {
  if (reply.type === 'array' && isJsonObject(reply.items)) return { record: reply.items, pagination: null }
  const { items, pagination } = isJsonObject(reply.properties) ? reply.properties : {}
  if (isJsonObject(pagination) && isJsonObject(items) && isJsonObject(items.items))
    return { record: items.items, pagination }
  return { record: reply, pagination: null }
}

/** Returns the shortest unused name. */
function chooseRecordName(catalogue: Catalogue, operations: readonly Operation[], taken: TakenNames): string {
  const names = operations.map((operation) => exportNameOf(catalogue, operation))
  const candidates = verbs.flatMap(([verb, shape]) =>
    names.filter((name) => verb.test(name)).map((name) => shape(name.replace(verb, ''))),
  )
  const shortest = candidates.toSorted((a, b) => a.length - b.length)
  const entries = shortest.map((name) => `${name}Entry`)
  return [...shortest, ...entries].find((name) => !taken.has(name)) ?? `${toPascalCase(names[0] ?? '')}Reply`
}
