import { readFileSync } from 'node:fs'
import { load } from 'js-yaml'
import { z } from 'zod'
import type { LoadedDomain } from '../api/domain.ts'
import { marksOf } from '../contract/permissions.ts'
import {
  chains,
  domainOf,
  isExactNumber,
  isRecord,
  messageOf,
  methods,
  type Operation,
  pathParamNames,
} from '../kernel/index.ts'
import { declarationsOf, differingFields, type GatewayDeclarations, withoutDeclared } from './gateway.ts'
import { described, followReference, inlineReferences, sourceKey, toZod, withDefault } from './json-schema.ts'
import { OperationMarks, purposeByNames, RootMarks, ticketComponent } from './marks.ts'

const sealedNames = new Set(['#/components/schemas/SealedBody', '#/components/schemas/SealedReply'])

const envelopeMembers = ['version', 'timestamp', 'success', 'code', 'message', 'data']

const jsonType = 'application/json'

/** A parameter of a path or a query is text. Reads a number or a boolean if the schema does not allow the text. */
export function toParameterZod(source: unknown, place: 'path' | 'query'): z.ZodType {
  const isNumber = place === 'path' ? isCanonicalNumber : isExactNumber
  const readText = (text: unknown): unknown[] => {
    if (typeof text === 'string' && isNumber(text)) return [text, Number(text)]
    return text === 'true' || text === 'false' ? [text, text === 'true'] : [text]
  }

  const schema = toZod(source, 'input')
  const zod = z.unknown().check((payload) => {
    for (const value of readText(payload.value)) {
      const { data, error } = schema.safeParse(value)
      payload.issues = error?.issues.map((issue) => ({ ...issue, input: undefined })) ?? []
      if (error) continue
      payload.value = data
      return
    }
  })
  return withDefault(described(zod, source), source)
}

/** After the permissions of extensions. */
const firstSortOrder = 1_000_000

/**
 * Skips the operations and declarations that the gateway has. Returns every error with its operation and field.
 */
export function readDocument(
  file: string,
  gateway: GatewayDeclarations = declarationsOf(),
): { domains: LoadedDomain[] } | { errors: string[] } {
  const errors: string[] = []
  try {
    const document: unknown = load(readFileSync(file, 'utf8'))
    if (!isRecord(document) || !String(document.openapi).startsWith('3.1'))
      return { errors: ['openapi: must be an OpenAPI 3.1 document'] }
    const root = RootMarks.safeParse(document['x-portico'])
    if (!root.success) errors.push(...root.error.issues.map((issue) => `x-portico: ${lineOf(issue)}`))
    const documented = listOperations(document, errors)
    if (documented.length === 0 && errors.length === 0) errors.push('paths: contains no operation')
    const added = documented.filter((each) =>
      isAddition(each, gateway, (error) => errors.push(`${each.place}: ${error}`)),
    )
    const operations = added.flatMap((each) => {
      try {
        return [[each.marks.name, toOperation(document, each)] as const]
      } catch (error) {
        errors.push(`${each.place}: ${messageOf(error)}`)
        return []
      }
    })
    if (!root.success) return { errors }
    const marks = added.map((each) => each.marks)
    const own = withoutDeclared(root.data, marks, gateway, (error) => errors.push(`x-portico: ${error}`))
    return errors.length > 0 ? { errors } : { domains: toDomains(`operations: ${file}`, own, operations) }
  } catch (error) {
    // The first line has the line and column. The others quote the file.
    return { errors: messageOf(error).split('\n', 1) }
  }
}

/** A path reaches the service as it is, so that only one spelling of a number is valid: no exponent, no `5.0`. */
function isCanonicalNumber(text: string): boolean {
  return String(Number(text)) === text && /^-?[\d.]+$/.test(text)
}

function lineOf({ path, message }: z.core.$ZodIssue): string {
  return [...path, message].join(': ')
}

type Json = Record<string, unknown>

interface DocumentedOperation {
  /** Method and path in the document, for errors. */
  place: string
  method: Operation['method']
  /** Below the chain's prefix. */
  path: string
  marks: OperationMarks
  source: Json
}

/** Lists an operation of several chains once. */
function listOperations(document: Json, errors: string[]): DocumentedOperation[] {
  const found = new Map<string, DocumentedOperation>()
  for (const [path, item] of Object.entries(isRecord(document.paths) ? document.paths : {}))
    for (const [name, source] of Object.entries(isRecord(item) ? item : {})) {
      const place = `${name.toUpperCase()} ${path}`
      if (!isRecord(source)) continue
      const method = methods.find((each) => each.toLowerCase() === name)
      if (method === undefined) {
        errors.push(`${place}: only ${methods.join(', ')} are supported`)
        continue
      }
      const { data: marks, error } = OperationMarks.safeParse(source['x-portico'])
      if (error) errors.push(...error.issues.map((issue) => `${place}: x-portico: ${lineOf(issue)}`))
      else if (!found.has(marks.id))
        found.set(marks.id, {
          place,
          method,
          path: marks.path ?? withoutPrefix(path, marks.chains),
          marks,
          source,
        })
    }
  return [...found.values()]
}

function withoutPrefix(path: string, ids: OperationMarks['chains']): string {
  const prefix = ids.map((id) => chains[id].prefix).find((each) => path.startsWith(`${each}/`))
  return prefix === undefined ? path : path.slice(prefix.length)
}

/** Whether the gateway lacks an operation. Reports one that differs from the gateway's. */
function isAddition(
  documented: DocumentedOperation,
  gateway: GatewayDeclarations,
  report: (error: string) => void,
): boolean {
  const { id } = documented.marks
  const declared = gateway.operations.get(id)
  const isOff = declared?.isOff ?? gateway.domains.get(domainOf(id))
  if (isOff === undefined) return true
  if (isOff) return false
  if (!declared) report(`x-portico: id: ${id} is not an operation of the domain ${domainOf(id)} of the gateway`)
  else
    for (const field of differingFields(documented, declared.value))
      report(`x-portico: ${field}: differs from the operation ${id} of the gateway`)
  return false
}

function toOperation(document: Json, { method, path, marks, source }: DocumentedOperation): Operation {
  const [first, ...others] = marks.chains
  if (first === undefined) throw new TypeError('x-portico: chains: is empty')
  const summary = summaryOf(source)
  if (summary === '' || summary.length > 60) throw new TypeError('summary: must have 1 to 60 characters')
  const params = paramsOf(document, source, path)
  const query = queryOf(document, source)
  const body = inField('requestBody', () => bodyOf(document, source))
  const reply = marks.reply ?? inField('responses', () => replyOf(document, source))
  if (method === 'DELETE' && body !== 'none') throw new TypeError('requestBody: DELETE takes none')
  if (marks.policy.idempotent && (typeof reply === 'string' || body === 'multipart'))
    throw new TypeError('x-portico: policy: idempotent: must be false without JSON in the body and the reply')
  // The catalogue checks these codes.
  const codes = { refuses: marks.refuses, malformedParam: marks.malformedParam, malformedBody: marks.malformedBody }
  return {
    id: marks.id,
    method,
    path,
    chains: [first, ...others],
    summary,
    policy: marks.policy,
    ...(marks.withoutEntry && { withoutEntry: marks.withoutEntry }),
    ...(marks.auditsRefusals && { auditsRefusals: marks.auditsRefusals }),
    ...(marks.confirms && { confirms: marks.confirms }),
    purpose: purposeByNames,
    ...(params && { params }),
    ...(marks.machineParams && { machineParams: marks.machineParams }),
    ...(query && { query }),
    body,
    reply,
    ...(codes as Pick<Operation, 'refuses' | 'malformedParam' | 'malformedBody'>),
  }
}

function summaryOf(source: Json): string {
  return typeof source.summary === 'string' ? source.summary : ''
}

function paramsOf(document: Json, source: Json, path: string): Operation['params'] {
  const declared = new Map(parametersOf(document, source, 'path').map((each) => [String(each.name), schemaOf(each)]))
  const names = pathParamNames(path)
  const missing = names.find((name) => !declared.has(name))
  if (missing !== undefined) throw new TypeError(`parameters: the path parameter ${missing} is missing`)
  // A path parameter without a schema is a UUID.
  const special = names.filter((name) => !isUuid(declared.get(name)))
  if (special.length === 0) return undefined
  return Object.fromEntries(
    special.map((name) => [name, inField(`parameters.${name}`, () => toPathParameter(declared.get(name)))]),
  )
}

function parametersOf(document: Json, source: Json, place: string): Json[] {
  const declared = Array.isArray(source.parameters) ? source.parameters : []
  const parameters = inlineReferences(
    document,
    declared.filter((each) => member(each, '$ref') !== `#/components/parameters/${ticketComponent}`),
  )
  return (Array.isArray(parameters) ? parameters : []).filter(isRecord).filter((each) => each.in === place)
}

/** In a document, these are next to the schema. */
function schemaOf({ schema, description, example }: Json): unknown {
  return isRecord(schema)
    ? {
        ...schema,
        ...(typeof description === 'string' && { description }),
        ...(example !== undefined && { examples: [example] }),
      }
    : schema
}

function isUuid(schema: unknown): boolean {
  return member(schema, 'format') === 'uuid'
}

function member(value: unknown, ...path: string[]): unknown {
  let current = value
  for (const name of path) current = isRecord(current) ? current[name] : undefined
  return current
}

/** Adds the field to the message of an error. */
function inField<Result>(field: string, build: () => Result): Result {
  try {
    return build()
  } catch (error) {
    throw new TypeError(`${field}: ${messageOf(error)}`, { cause: error })
  }
}

/** Remains the text of the path. */
function toPathParameter(source: unknown): z.ZodType<string> {
  const schema = toParameterZod(source, 'path')
  return z
    .string()
    .refine((text) => schema.safeParse(text).success)
    .meta({ [sourceKey]: source })
}

function queryOf(document: Json, source: Json): z.ZodType | undefined {
  const parameters = parametersOf(document, source, 'query')
  if (parameters.length === 0) return undefined
  return z.strictObject(
    Object.fromEntries(
      parameters.map((declared) => {
        const parameter = inField(`parameters.${declared.name}`, () => toParameterZod(schemaOf(declared), 'query'))
        return [String(declared.name), declared.required === true ? parameter : parameter.optional()]
      }),
    ),
  )
}

/** Returns a content map by types in lower case without parameters, such as the charset. */
function contentOf(source: unknown): Json | undefined {
  const content = member(source, 'content')
  if (!isRecord(content)) return undefined
  return Object.fromEntries(
    Object.entries(content).map(([type, value]) => [(type.split(';')[0] ?? '').trim().toLowerCase(), value]),
  )
}

function bodyOf(document: Json, source: Json): Operation['body'] {
  const content = contentOf(source.requestBody)
  if (content === undefined) return 'none'
  if (content['multipart/form-data'] !== undefined) return 'multipart'
  if (content[jsonType] === undefined) return 'raw'
  const schema = withoutSealed(member(content, jsonType, 'schema'))
  const body = toZod(inlineReferences(document, schema), 'input')
  return member(source, 'requestBody', 'required') === true ? body : body.optional()
}

/** Skips the alternative that the secure channel seals. */
function withoutSealed(schema: unknown): unknown {
  if (!isRecord(schema) || !Array.isArray(schema.anyOf)) return schema
  const plain = schema.anyOf.filter((each) => !isRecord(each) || !sealedNames.has(String(each.$ref)))
  return plain.length === 1 && plain.length < schema.anyOf.length ? plain[0] : schema
}

function replyOf(document: Json, source: Json): Operation['reply'] {
  const responses = isRecord(source.responses) ? source.responses : {}
  if (responses['101'] !== undefined) {
    assertOneSuccess(responses, '101')
    return 'socket'
  }
  const content = contentOf(followReference(document, responses['200'])) ?? {}
  const types = Object.keys(content)
  const isFile = types.length > 0 && !types.includes('text/event-stream') && !types.some((type) => /json/i.test(type))
  assertOneSuccess(responses, '200', isFile ? ['206', '304'] : [])
  if (responses['200'] === undefined) throw new TypeError('200 is missing')
  if (isFile) return 'stream'
  if (types.length !== 1 || !(types[0] === jsonType || types[0] === 'text/event-stream'))
    throw new TypeError(`200: content: must be ${jsonType}, text/event-stream, or the types of a file`)
  if (types[0] === 'text/event-stream') return 'events'
  const schema = member(content, jsonType, 'schema')
  return toZod(inlineReferences(document, withoutSealed(dataOf(document, schema))), 'output')
}

/** The gateway expects one kind of success: 200, and for files also 206. */
function assertOneSuccess(responses: Json, kind: '101' | '200', more: readonly string[] = []): void {
  const other = Object.keys(responses).find((status) => /^[123]/.test(status) && ![kind, ...more].includes(status))
  if (other !== undefined) throw new TypeError(`${other}: the only success must be ${kind}`)
}

/** Returns the schema itself if it describes the data without an envelope. */
function dataOf(document: Json, schema: unknown): unknown {
  const target = followReference(document, schema)
  if (!isRecord(target) || !isRecord(schema)) return schema
  const { $ref: _, ...siblings } = schema
  // The last part is the narrowest.
  const parts = [target.allOf ?? target, schema === target ? [] : siblings].flat().toReversed()
  const withData = parts.find((part) => isRecord(part) && isRecord(part.properties) && isEnvelope(part.properties))
  return isRecord(withData) && isRecord(withData.properties) ? withData.properties.data : schema
}

/** A separate part of `allOf` can narrow `data`. */
function isEnvelope(properties: Json): boolean {
  return Object.keys(properties).join() === 'data' || envelopeMembers.every((name) => name in properties)
}

/** The first domain declares the permissions, rate groups and codes of all. */
function toDomains(source: string, root: RootMarks, operations: readonly (readonly [string, Operation])[]) {
  const names = [...new Set(operations.map(([, { id }]) => domainOf(id)))]
  const permissions = {
    workspace: toPermissionGroups(root.permissions.workspace),
    operator: toPermissionGroups(root.permissions.operator),
  }
  return names.map((name, index): LoadedDomain => {
    const own = Object.fromEntries(operations.filter(([, { id }]) => domainOf(id) === name))
    const summary = root.domains[name] ?? ''
    return {
      name,
      summary,
      operations: own,
      contract: {
        ...own,
        summary,
        ...(index === 0 && { codes: root.codes, permissions, rateGroups: root.rateGroups }),
      },
      ...(index === 0 && { texts: root.texts }),
      create: () => ({ handlers: new Map() }),
      source,
      isOurs: false,
      isRemote: true,
    }
  })
}

function toPermissionGroups(groups: RootMarks['permissions']['workspace'] = {}) {
  let next = firstSortOrder
  return Object.fromEntries(
    Object.entries(groups).map(([group, { actions, ...marks }]) => {
      const sortOrder = next
      next += actions.length
      return [group, { sortOrder, actions, ...marksOf(marks) }]
    }),
  )
}
