import * as z from 'zod'
import {
  canonicalJson,
  confirmedNames,
  isRecord,
  messageOf,
  type Operation,
  type Purpose,
  pathParamNames,
} from '../kernel/index.ts'
import { pathParameterSchema } from './fields.ts'

/** Members of a purpose that are not fields of the operation. */
const reserved: ReadonlySet<string> = new Set(['operationId', 'workspaceBizId'])

/** Fields that decide who gets what. A step-up must confirm each of them. */
const decisive = /(bizid|_id|amount|currency|email|permissioncodes)$/i

/** Whether some or all requests need a step-up. An anonymous caller cannot step up. */
export function canDemandStepUp({ policy }: Pick<Operation, 'policy'>): boolean {
  return policy.caller === 'account' && policy.stepUp !== false
}

/** The schemas of the fields that a step-up confirms, by name. */
export function confirmedSchemas(operation: Operation): Record<string, z.ZodType> {
  const schemas = schemasOf(operation)
  return Object.fromEntries(confirmedNames(operation).flatMap((name) => (schemas[name] ? [[name, schemas[name]]] : [])))
}

/** Returns what the mail of a step-up names besides the operation. */
export function purposeOf(operation: Operation, fields: Record<string, unknown>): Purpose {
  const isText = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string'
  return operation.purpose?.(Object.fromEntries(Object.entries(fields).filter(isText))) ?? {}
}

/**
 * Errors in `purpose`. A misspelled name would leave a gap in the mail, and the mail must show an amount (PSD2 RTS,
 * article 5).
 */
export function purposeErrors(operation: Operation): string[] {
  const names = confirmedNames(operation)
  const read = new Set<string>()
  const sample = new Proxy(Object.fromEntries(names.map((name) => [name, name])), {
    get: (texts, name) => {
      read.add(String(name))
      return Reflect.get(texts, name)
    },
  })
  const thrown: string[] = []
  try {
    operation.purpose?.(sample)
  } catch (error) {
    thrown.push(`throws: ${messageOf(error)}`)
  }
  const amounts = canDemandStepUp(operation) ? names.filter((name) => /amount$/i.test(name)) : []
  return [
    ...thrown,
    ...[...read]
      .filter((name) => !names.includes(name))
      .map((name) => `reads ${name}, which is not among the confirmed fields`),
    ...amounts.filter((name) => !read.has(name)).map((name) => `must show ${name}, which a step-up confirms`),
  ]
}

/** Errors in `confirms`, and fields that it lacks. */
export function confirmsErrors(operation: Operation): string[] {
  const names = confirmedNames(operation)
  const schemas = schemasOf(operation)
  const places = [operation.query, operation.body].map(fieldsOf).concat(paramsOf(operation))
  const isAmbiguous = (name: string): boolean => places.filter((place) => Object.hasOwn(place, name)).length > 1
  const decides = canDemandStepUp(operation)
    ? Object.entries(schemas).filter(([name, schema]) => isDecisive(name, schema))
    : []
  return [
    ...names
      .filter((name) => !Object.hasOwn(schemas, name))
      .map((name) => `${name} is neither a path parameter nor a field of the query or of an object body; remove it`),
    ...names.filter(isAmbiguous).map((name) => `${name} is the name of two fields; rename one`),
    ...names
      .filter((name) => reserved.has(name))
      .map((name) => `${name} has another meaning in a purpose; rename the field`),
    ...decides
      .filter(([name]) => !names.includes(name))
      .map(([name]) => `must list ${name}, which a step-up must confirm`),
    ...(canDemandStepUp(operation) ? hiddenIn(operation.body) : []).map(
      (name) => `cannot list ${name}: the body must be an object`,
    ),
  ]
}

/**
 * The canonical form of what a step-up confirms (RFC 8785), documented in docs/concepts/step-up.md. Lists of
 * texts are sorted, because their order has no meaning.
 */
export function canonicalPurpose(
  operation: Operation,
  workspace: string | null,
  fields: Record<string, unknown>,
): string {
  const values = Object.entries(fields).map(([name, value]) => [name, isTexts(value) ? value.toSorted() : value])
  return canonicalJson({ operation: operation.id, workspace, fields: Object.fromEntries(values) })
}

/** The confirmed ids, amounts and codes, for the audit log. Contains no addresses and no account numbers. */
export function auditedFields(fields: Record<string, unknown>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) => {
      if (!decisive.test(name) || /email$/i.test(name)) return []
      if (isTexts(value)) return [[name, value.toSorted().join(' ')]]
      return typeof value === 'string' ? [[name, value]] : []
    }),
  )
}

function schemasOf(operation: Operation): Record<string, z.ZodType> {
  return {
    ...fieldsOf(operation.query),
    ...fieldsOf(operation.body),
    ...paramsOf(operation),
  }
}

/** Fields at the top level. Other schemas than objects have none. */
function fieldsOf(schema: unknown): Record<string, z.ZodType> {
  if (schema instanceof z.ZodOptional) return fieldsOf(schema.unwrap())
  if (schema instanceof z.ZodPipe) return fieldsOf(schema.in)
  return schema instanceof z.ZodObject ? schema.shape : {}
}

/** A prefix that is passed through declares its `params` without having them in its path. */
function paramsOf(operation: Operation): Record<string, z.ZodType> {
  return {
    ...operation.params,
    ...Object.fromEntries(pathParamNames(operation.path).map((name) => [name, pathParameterSchema(operation, name)])),
  }
}

/** Whether a field, or one below it, decides who gets what. */
function isDecisive(name: string, schema: z.ZodType): boolean {
  return decisive.test(name) || decidesWithin(schema) !== undefined
}

function decidesWithin(schema: z.ZodType): string | undefined {
  return namesIn(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })).find((name) => decisive.test(name))
}

/** Names of the fields at any depth of a JSON Schema. */
function namesIn(schema: unknown): string[] {
  return Object.entries(isRecord(schema) || Array.isArray(schema) ? schema : {}).flatMap(([keyword, value]) => [
    ...(keyword === 'properties' && isRecord(value) ? Object.keys(value) : []),
    // Names that a record requires.
    ...(keyword === 'required' && isTexts(value) ? value : []),
    ...namesIn(value),
  ])
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** The field of a body without fields at its top level, which `confirms` cannot name. */
function hiddenIn(body: Operation['body']): string[] {
  if (!(body instanceof z.ZodType) || Object.keys(fieldsOf(body)).length > 0) return []
  const name = decidesWithin(body)
  return name === undefined ? [] : [name]
}
