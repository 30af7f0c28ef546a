import { pathParameterSchema } from '../contract/path-parameters.ts'
import { type Chain, type Operation, pathParamNames } from '../kernel/index.ts'
import type { Example } from './examples.ts'
import { type HeaderRow, headerTable } from './header-table.ts'
import { isJsonObject, type Json, type JsonObject, reference } from './json.ts'
import { toJsonSchema } from './schemas.ts'

const headerParameter = ({ name, description, schema, example }: HeaderRow, required: boolean): JsonObject => ({
  name,
  in: 'header',
  required,
  description,
  schema,
  ...(example === undefined ? {} : { example }),
})

/** Each header as it is where it is required, and as it is where it is not. */
export const headerComponents = (): Record<string, JsonObject> =>
  Object.fromEntries(
    Object.entries(headerTable).flatMap(([key, row]) => [
      [key, headerParameter(row, true)],
      [`Optional${key}`, headerParameter(row, false)],
    ]),
  )

const headersOf = (operation: Operation, chain: Chain): JsonObject[] =>
  Object.entries(headerTable).flatMap(([key, { rule }]) => {
    const presence = rule(operation, chain)
    if (presence === 'none') return []
    return [reference('parameters', presence === 'required' ? key : `Optional${key}`)]
  })

const namesIn = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])

const pathParameter = (operation: Operation, name: string, recorded: Json | undefined): JsonObject => {
  const { description, examples, ...schema } = toJsonSchema(pathParameterSchema(operation, name), 'input')
  const example = recorded ?? namesIn(examples)[0]
  return {
    name,
    in: 'path',
    required: true,
    ...(description === undefined ? {} : { description }),
    schema,
    ...(example === undefined ? {} : { example }),
  }
}

const membersOf = ({ properties }: JsonObject): [string, Json][] =>
  isJsonObject(properties) ? Object.entries(properties) : []

/** A recorded parameter is a text, as all of a query is; its example is what it means. */
const readAs = (type: Json | undefined, text: Json | undefined): Json | undefined => {
  if (typeof text !== 'string') return undefined
  if (type === 'integer' || type === 'number') return Number(text)
  return type === 'boolean' ? text === 'true' : text
}

/** Query parameters: what each of them means once it is read (a count is an integer), needed where the wire needs it. */
const queryOf = ({ query }: Operation, recorded: JsonObject): JsonObject[] => {
  if (!query) return []
  const needed = namesIn(toJsonSchema(query, 'input').required)
  return membersOf(toJsonSchema(query, 'output')).map(([name, schema]) => {
    const { description, examples, ...rest } = isJsonObject(schema) ? schema : {}
    const example = readAs(rest.type, recorded[name]) ?? namesIn(examples)[0]
    return {
      name,
      in: 'query',
      required: needed.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(example === undefined ? {} : { example }),
    }
  })
}

export const listParameters = (
  operation: Operation,
  chain: Chain,
  { params = {}, query = {} }: Example,
): JsonObject[] => [
  ...pathParamNames(operation.path).map((name) => pathParameter(operation, name, params[name])),
  ...queryOf(operation, query),
  ...headersOf(operation, chain),
]
