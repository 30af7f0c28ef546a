import { z } from 'zod'
import { pathParameterSchema } from '../contract/fields.ts'
import type { Catalogue } from '../contract/index.ts'
import { isSealable } from '../contract/policies.ts'
import { filePurpose } from '../domains/files/contract.ts'
import { type Chain, type Operation, pathParamNames } from '../kernel/index.ts'
import type { Example } from './examples.ts'
import { type HeaderRow, headerTable } from './header-table.ts'
import { isJsonObject, type Json, type JsonObject, reference } from './json.ts'
import { exportNameOf, toPascalCase } from './names.ts'
import { inBatches, toJsonSchema } from './schemas.ts'

const toHeaderParameter = ({ name, description, schema, example }: HeaderRow, required: boolean): JsonObject => ({
  name,
  in: 'header',
  required,
  description,
  schema,
  ...(example === undefined ? {} : { example }),
})

/** Returns two components per header, one required and one optional. */
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

const toPathParameter = (
  catalogue: Catalogue,
  operation: Operation,
  name: string,
  recorded: Json | undefined,
): JsonObject => {
  const { description, examples, ...schema } = toJsonSchema(catalogue, pathParameterSchema(operation, name), 'input')
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

/**
 * Returns query parameters as they are after parsing: a count is an integer. The input schema determines which are
 * required.
 */
const listQueryParameters = (catalogue: Catalogue, { query }: Operation, recorded: JsonObject): JsonObject[] => {
  if (!query) return []
  const required = toArray(toJsonSchema(catalogue, query, 'input').required)
  return membersOf(toJsonSchema(catalogue, query, 'output')).map(([name, schema]) => {
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

/** Returns the path, query and header parameters of an operation on a chain. */
export const listParameters = (
  catalogue: Catalogue,
  operation: Operation,
  chain: Chain,
  { params = {}, query = {} }: Example,
): JsonObject[] => [
  ...pathParamNames(operation.path).map((name) => toPathParameter(catalogue, operation, name, params[name])),
  ...listQueryParameters(catalogue, operation, query),
  ...listHeaders(operation, chain),
]

const componentName = (catalogue: Catalogue, operation: Operation): string =>
  `${toPascalCase(exportNameOf(catalogue, operation))}Request`

/** Returns a schema component per operation with a JSON body. */
export const bodyComponents = async (catalogue: Catalogue): Promise<Record<string, JsonObject>> => {
  const components: Record<string, JsonObject> = {}
  for await (const operation of inBatches(catalogue.operations))
    if (operation.body instanceof z.ZodType)
      components[componentName(catalogue, operation)] = toJsonSchema(catalogue, operation.body, 'input')
  return components
}

const uploadForm: JsonObject = {
  type: 'object',
  properties: {
    file: { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' },
    purpose: { type: 'string', enum: [...filePurpose.codes] },
  },
  required: ['file', 'purpose'],
  additionalProperties: false,
}

/** Returns the `requestBody` member of an operation; empty without a body. */
export const toRequestBody = (
  catalogue: Catalogue,
  operation: Operation,
  chain: Chain,
  example: Example,
): JsonObject => {
  const { body } = operation
  if (body === 'none') return {}
  const { request } = example
  const examples = request === undefined ? {} : { examples: { recorded: { value: request } } }
  if (body === 'multipart')
    return { requestBody: { required: true, content: { 'multipart/form-data': { schema: uploadForm, ...examples } } } }
  const plain = reference('schemas', componentName(catalogue, operation))
  const schema = isSealable(operation, chain) ? { anyOf: [plain, reference('schemas', 'SealedBody')] } : plain
  const required = !(body instanceof z.ZodOptional)
  return { requestBody: { required, content: { 'application/json': { schema, ...examples } } } }
}
