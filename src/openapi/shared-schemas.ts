import { z } from 'zod'
import type { Operation } from '../kernel/index.ts'
import { inTurns } from './in-turns.ts'
import { isJsonObject, type JsonObject, mapMembers, mapObjects, reference } from './json.ts'
import { codeNameOf, pascal } from './names.ts'
import { recordName, recordOf } from './records.ts'
import { schemaOf } from './schema.ts'

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

  for await (const operation of inTurns(operations)) {
    if (!(operation.reply instanceof z.ZodType)) continue
    const nodeName = `${pascal(codeNameOf(operation))}Node`
    const hoisted = hoist(schemaOf(operation.reply, 'output'), nodeName)
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
