import { z } from 'zod'
import type { Operation } from '../kernel/index.ts'
import { isJsonObject, type JsonObject, mapMembers, mapObjects, reference } from './json.ts'
import { exportNameOf, toPascalCase } from './names.ts'
import { inBatches, toJsonSchema } from './schemas.ts'

/** What replies have in common, each once under a name. */
export interface SharedSchemas {
  components: Record<string, JsonObject>
  /** The schema of an operation's `data`. */
  dataOf(operation: Operation): JsonObject
}

const recursion = '#/$defs/__schema0'

/** A recursive record comes with its definition beside it, which becomes a component. */
const hoist = (reply: JsonObject, name: string): { data: JsonObject; node: JsonObject | null } => {
  const { $defs, ...rest } = reply
  const definition = isJsonObject($defs) ? $defs.__schema0 : null
  if (!isJsonObject(definition)) return { data: reply, node: null }
  const rename = (object: JsonObject) => (object.$ref === recursion ? reference('schemas', name) : undefined)
  return { data: mapMembers(rest, rename), node: mapMembers(definition, rename) }
}

/**
 * Names what replies share. Two schemas are the same where their JSON is, so the contract needs no marks for it;
 * `reserved` names are taken already.
 */
export const shareSchemas = async (
  operations: readonly Operation[],
  reserved: Iterable<string>,
): Promise<SharedSchemas> => {
  const components: Record<string, JsonObject> = {}
  const data = new Map<Operation, JsonObject>()
  const sharers = new Map<string, { record: JsonObject; operations: Operation[] }>()
  const names = new Map<string, string>()

  for await (const operation of inBatches(operations)) {
    if (!(operation.reply instanceof z.ZodType)) continue
    const nodeName = `${toPascalCase(exportNameOf(operation))}Node`
    const hoisted = hoist(toJsonSchema(operation.reply, 'output'), nodeName)
    if (hoisted.node) components[nodeName] = hoisted.node
    data.set(operation, hoisted.data)
    const { record, pagination } = recordOf(hoisted.data)
    if (pagination) names.set(JSON.stringify(pagination), 'Pagination')
    if (record.type !== 'object') continue
    const text = JSON.stringify(record)
    const known = sharers.get(text)
    if (known) known.operations.push(operation)
    else sharers.set(text, { record, operations: [operation] })
    if (pagination) components.Pagination = pagination
  }
  const taken = new Set([...reserved, ...Object.keys(components)])
  for (const [text, { operations: answering }] of sharers) {
    const name = recordName(answering, taken)
    taken.add(name)
    names.set(text, name)
  }
  const point = (object: JsonObject): JsonObject | undefined => {
    const name = names.get(JSON.stringify(object))
    return name === undefined ? undefined : reference('schemas', name)
  }
  for (const [text, { record }] of sharers) components[names.get(text) ?? ''] = mapMembers(record, point)
  return {
    components,
    dataOf: (operation) => {
      const schema = mapObjects(data.get(operation) ?? {}, point)
      return isJsonObject(schema) ? schema : {}
    },
  }
}

/** The parts of a reply that are worth a name: a page's or list's item, the pagination, else the reply itself. */
export const recordOf = (reply: JsonObject): { record: JsonObject; pagination: JsonObject | null } => {
  if (reply.type === 'array' && isJsonObject(reply.items)) return { record: reply.items, pagination: null }
  const { items, pagination } = isJsonObject(reply.properties) ? reply.properties : {}
  if (isJsonObject(pagination) && isJsonObject(items) && isJsonObject(items.items))
    return { record: items.items, pagination }
  return { record: reply, pagination: null }
}

const singular = (name: string): string => name.replace(/ies$/, 'y').replace(/([^s])s$/, '$1')
const asItIs = (name: string): string => name

/** What a record is called after an operation that answers it: readTransfer, createTransfer, listTransfers. */
const verbs: readonly [RegExp, (rest: string) => string][] = [
  [/^read(?=[A-Z])/, asItIs],
  [/^create(?=[A-Z])/, asItIs],
  [/^list(?=[A-Z])/, singular],
]

/** A name for the record that these operations answer, the shortest that is free. */
export const recordName = (operations: readonly Operation[], taken: ReadonlySet<string>): string => {
  const names = operations.map(exportNameOf)
  const candidates = verbs.flatMap(([verb, shape]) =>
    names.filter((name) => verb.test(name)).map((name) => shape(name.replace(verb, ''))),
  )
  const wanted = candidates.toSorted((a, b) => a.length - b.length)
  const entries = wanted.map((name) => `${name}Entry`)
  return [...wanted, ...entries].find((name) => !taken.has(name)) ?? `${toPascalCase(names[0] ?? '')}Reply`
}
