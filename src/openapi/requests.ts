import { z } from 'zod'
import { filePurpose } from '../banking/files/contract.ts'
import { pathParameterSchema } from '../contract/fields.ts'
import type { Catalogue } from '../contract/index.ts'
import { isSealable, takesTicket, ticketParameter } from '../contract/policies.ts'
import { ticketComponent } from '../documents/marks.ts'
import { type Chain, domainOf, type Operation, paramNameOn, pathParamNames } from '../kernel/index.ts'
import type { Example } from './examples.ts'
import { headerTable } from './header-table.ts'
import { isJsonObject, type Json, type JsonObject, reference } from './json.ts'
import { exportNameOf, toPascalCase } from './names.ts'
import { inBatches, toJsonSchema } from './schemas.ts'

export interface RequestParts {
  catalogue: Catalogue
  /** Whether the document describes sealed bodies. */
  isSealed: boolean
}

/** Returns the path and query parameters. */
export function listInputParameters(
  catalogue: Catalogue,
  operation: Operation,
  chain: Chain,
  { params = {}, query = {} }: Example,
): JsonObject[] {
  return [
    ...pathParamNames(operation.path).map((name) => ({
      ...toPathParameter(catalogue, operation, name, params[name]),
      name: paramNameOn(chain, operation, name),
    })),
    ...listQueryParameters(catalogue, operation, query),
  ]
}

export function listParameters(
  { catalogue, isSealed }: RequestParts,
  operation: Operation,
  chain: Chain,
  example: Example,
): JsonObject[] {
  return [
    ...listInputParameters(catalogue, operation, chain, example),
    ...(takesTicket(operation, chain) ? [reference('parameters', ticketComponent)] : []),
    ...listHeaders(operation, chain, isSealed),
  ]
}

/** The parameter of the gateway itself, which its services never see. */
export const ticketParameterComponents: Record<string, JsonObject> = {
  [ticketComponent]: {
    name: ticketParameter,
    in: 'query',
    required: false,
    description:
      'A one-time ticket, from the `link` operation of a file or export or from `auth/browser-session/ticket`. It needs the ' +
      'session cookie, and takes the place of all headers.',
    schema: { type: 'string', minLength: 43, maxLength: 43 },
  },
}

export async function bodyComponents(catalogue: Catalogue): Promise<Record<string, JsonObject>> {
  const components: Record<string, JsonObject> = {}
  for await (const operation of inBatches(catalogue.operations))
    if (operation.body instanceof z.ZodType)
      components[componentName(catalogue, operation)] = toJsonSchema(catalogue, operation.body, 'input')
  return components
}

export function formComponents({ codedFamilies }: Catalogue): Record<string, JsonObject> {
  return {
    UploadForm: {
      type: 'object',
      properties: {
        file: { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' },
        purpose: {
          type: 'string',
          enum: [...(codedFamilies.get('filePurpose') ?? filePurpose).codes],
          title: 'UploadPurpose',
        },
      },
      required: ['file', 'purpose'],
      additionalProperties: false,
    },
  }
}

/** Returns an operation's `requestBody` member. Returns no member if the operation has no body. */
export function toRequestBody(
  { catalogue, isSealed }: RequestParts,
  operation: Operation,
  chain: Chain,
  example: Example,
): JsonObject {
  const { body } = operation
  if (body === 'none') return {}
  const { request } = example
  const examples = request === undefined ? {} : { examples: { recorded: { value: request } } }
  if (body === 'multipart')
    return {
      requestBody: {
        required: true,
        content: { 'multipart/form-data': { schema: formOf(operation), ...examples } },
      },
    }
  if (body === 'raw') return { requestBody: { content: { '*/*': { schema: { type: 'string', format: 'binary' } } } } }
  const plain = reference('schemas', componentName(catalogue, operation))
  const schema =
    isSealed && isSealable(operation, chain) ? { anyOf: [plain, reference('schemas', 'SealedBody')] } : plain
  const required = !(body instanceof z.ZodOptional)
  return { requestBody: { required, content: { 'application/json': { schema, ...examples } } } }
}

function toPathParameter(
  catalogue: Catalogue,
  operation: Operation,
  name: string,
  recorded: Json | undefined,
): JsonObject {
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

function toArray(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : []
}

/**
 * Types are those after parsing, such as integer for a count. The input schema determines which parameters are required.
 * Optional filters get no example from their schema, because a reader that fills it in would find nothing.
 */
function listQueryParameters(catalogue: Catalogue, { query }: Operation, recorded: JsonObject): JsonObject[] {
  if (!query) return []
  const required = toArray(toJsonSchema(catalogue, query, 'input').required)
  return membersOf(toJsonSchema(catalogue, query, 'output')).map(([name, schema]) => {
    const { description, examples, ...rest } = isJsonObject(schema) ? schema : {}
    const isRequired = required.includes(name)
    const example = parseAs(rest.type, recorded[name]) ?? (isRequired ? toArray(examples)[0] : undefined)
    return {
      name,
      in: 'query',
      required: isRequired,
      ...(description === undefined ? {} : { description }),
      schema: rest,
      ...(example === undefined ? {} : { example }),
    }
  })
}

function membersOf({ properties }: JsonObject): [string, Json][] {
  return isJsonObject(properties) ? Object.entries(properties) : []
}

/** Recorded query parameters are text. */
function parseAs(type: Json | undefined, text: Json | undefined): Json | undefined {
  if (typeof text !== 'string') return undefined
  if (type === 'integer' || type === 'number') return Number(text)
  return type === 'boolean' ? text === 'true' : text
}

function listHeaders(operation: Operation, chain: Chain, isSealed: boolean): JsonObject[] {
  return Object.entries(headerTable).flatMap(([key, { rule }]) => {
    const presence = rule(operation, chain, isSealed)
    if (presence === 'none') return []
    return [reference('parameters', presence === 'required' ? key : `Optional${key}`)]
  })
}

function componentName(catalogue: Catalogue, operation: Operation): string {
  return `${toPascalCase(exportNameOf(catalogue, operation))}Request`
}

/** The forms of other domains have a file and any texts. */
function formOf({ id }: Operation): JsonObject {
  return domainOf(id) === 'files'
    ? reference('schemas', 'UploadForm')
    : {
        type: 'object',
        properties: { file: { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' } },
        required: ['file'],
        additionalProperties: { type: 'string' },
      }
}
