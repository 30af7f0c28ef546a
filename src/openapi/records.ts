import type { Operation } from '../kernel/index.ts'
import { isJsonObject, type JsonObject } from './json.ts'
import { codeNameOf, pascal } from './names.ts'

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
  const names = operations.map(codeNameOf)
  const candidates = verbs.flatMap(([verb, shape]) =>
    names.filter((name) => verb.test(name)).map((name) => shape(name.replace(verb, ''))),
  )
  const wanted = candidates.toSorted((a, b) => a.length - b.length)
  const entries = wanted.map((name) => `${name}Entry`)
  return [...wanted, ...entries].find((name) => !taken.has(name)) ?? `${pascal(names[0] ?? '')}Reply`
}
