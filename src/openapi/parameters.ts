import { pathParameterSchema } from '../contract/fields.ts'
import { type Chain, type Operation, pathParamNames } from '../kernel/index.ts'
import type { Example } from './examples.ts'
import { type HeaderRow, headerTable } from './header-table.ts'
import { isJsonObject, type Json, type JsonObject, reference } from './json.ts'
import { toJsonSchema } from './schemas.ts'

const toHeaderParameter = ({ name, description, schema, example }: HeaderRow, required: boolean): JsonObject => ({
  name,
  in: 'header',
  required,
  description,
  schema,
  ...(example === undefined ? {} : { example }),
})

/** Two components per header, one required and one optional. */
export const headerComponents = (): Record<string, JsonObject> =>
  Object.fromEntries(
    Object.entries(headerTable).flatMap(([key, row]) => [
      [key, toHeaderParameter(row, true)],
      [`Optional${key}`, toHeaderParameter(row, false)],
    ]),
  )

const listHeaders = (operation: Operation, chain: Chain): JsonObject[] =>
  Object.entries(headerTable).flatMap(([key, { rule }]) => {
    const presence = rule(operation, chain)
    if (presence === 'none') return []
    return [reference('parameters', presence === 'required' ? key : `Optional${key}`)]
  })

const toArray = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : [])

const toPathParameter = (operation: Operation, name: string, recorded: Json | undefined): JsonObject => {
  const { description, examples, ...schema } = toJsonSchema(pathParameterSchema(operation, name), 'input')
  const example = recorded ?? toArray(examples)[0]
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

/** Converts a recorded query parameter, which is text, to its type. */
const parseAs = (type: Json | undefined, text: Json | undefined): Json | undefined => {
  if (typeof text !== 'string') return undefined
  if (type === 'integer' || type === 'number') return Number(text)
  return type === 'boolean' ? text === 'true' : text
}

/** Query parameters with their parsed types (a count is an integer). The input schema decides which are required. */
const listQueryParameters = ({ query }: Operation, recorded: JsonObject): JsonObject[] => {
  if (!query) return []
  const required = toArray(toJsonSchema(query, 'input').required)
  return membersOf(toJsonSchema(query, 'output')).map(([name, schema]) => {
    const { description, examples, ...rest } = isJsonObject(schema) ? schema : {}
    const example = parseAs(rest.type, recorded[name]) ?? toArray(examples)[0]
    return {
      name,
      in: 'query',
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(example === undefined ? {} : { example }),
    }
  })
}

/** The path, query and header parameters of an operation on a chain. */
export const listParameters = (
  operation: Operation,
  chain: Chain,
  { params = {}, query = {} }: Example,
): JsonObject[] => [
  ...pathParamNames(operation.path).map((name) => toPathParameter(operation, name, params[name])),
  ...listQueryParameters(operation, query),
  ...listHeaders(operation, chain),
]
