import { hash } from 'node:crypto'
import type { z } from 'zod'
import { type Configuration, settingsOfPortal } from '../../../config/index.ts'
import { pathParameterSchema } from '../../../contract/fields.ts'
import { headers } from '../../../contract/headers.ts'
import { maxListDepth } from '../../../contract/lists.ts'
import { type ObservedError, observedErrors } from '../../../contract/observed-errors.ts'
import { codeForMalformedParam } from '../../../contract/policies.ts'
import {
  canonicalJson,
  type InvalidField,
  invalid,
  isInexactNumber,
  isRecord,
  type Operation,
  Refusal,
} from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import { readChannelSessionId } from '../headers.ts'
import { isUnsafeSegment } from '../paths.ts'

/** Malformed values throw RESOURCE.NOT_FOUND or VALIDATION.INVALID_PARAMETER, as the operation declares. */
export function parsePathParameters(operation: Operation, params: Record<string, string>): Record<string, string> {
  const parsed: Record<string, string> = {}
  for (const [name, value] of Object.entries(params)) {
    const result = pathParameterSchema(operation, name).safeParse(value)
    // Wherever the operation runs, so that it can move to a service.
    if (!result.success || result.data === '' || isUnsafeSegment(result.data))
      throw new Refusal(codeForMalformedParam(operation), { field: name, internal: `malformed ${name}` })
    parsed[name] = result.data
  }
  return parsed
}

/** Returns the query parameters as plain strings. Throws for repeated, nested (`a[b]`) or oversized names. */
export function parseQuery(query: string): Record<string, string> {
  const parameters: Record<string, string> = {}
  if (query === '') return parameters
  for (const part of query.split('&')) {
    if (part === '') continue
    const at = part.indexOf('=')
    const name = decodeQueryText(at < 0 ? part : part.slice(0, at))
    if (!/^\w{1,64}$/.test(name) || name in parameters) throw invalid('query', 'repeated or invalid parameter')
    parameters[name] = decodeQueryText(at < 0 ? '' : part.slice(at + 1))
  }
  return parameters
}

const printable = /^[\w.$-]{1,64}$/

/** Rejects unknown, missing or repeated input, and pages beyond `maxListDepth`. */
export function validateStage(settings: Configuration): Stage {
  return (call) => {
    if (call.below) return assertVisible(call.query)
    call.params = parsePathParameters(call.operation, call.params)
    assertNoObservedError(call, settings)
    const query = parseQuery(call.query)
    const issues: FoundIssue[] = []
    const parsed = readQuery(call.operation, query, issues)
    findInexact(query, parsed, issues)
    const body = readBody(call, issues)
    const [first] = issues
    if (first) throw refusalOf(first, issues)
    assertDepth(parsed)
    call.input = { query: parsed, body }
  }
}

/** The store records the idempotency key in the transaction of the command. */
export function idempotencyStage(call: Call): void {
  if (!call.operation.policy.idempotent) return
  const { params, input } = call
  call.idempotency = {
    key: keyOf(call),
    // Services behind HTTP compute a separate hash, so the gateway saves 4 % of the CPU of a proxied POST.
    get bodyHash() {
      return hash('sha256', canonicalJson({ params, body: input.body }))
    },
  }
}

/**
 * Without an Idempotency-Key, X-Request-Id is required even on chains that generate request ids, because a generated id
 * would not identify a retry.
 */
function keyOf({ headers: received, idempotencyKey, requestId }: Call): string {
  const { field } = headers.idempotencyKey
  if (idempotencyKey !== null) return idempotencyKey
  if (received.has(field)) throw invalid(field, 'not one RFC 9651 string of 1 to 255 characters')
  if (!received.has(headers.requestId.field))
    throw invalid(headers.requestId.field, 'send Idempotency-Key or X-Request-Id', 'missing')
  return requestId
}

function decodeQueryText(text: string): string {
  try {
    const value = decodeURIComponent(text.replaceAll('+', ' '))
    if (!value.includes('\0')) return value
  } catch {
    // Rejected below, like text that contains NUL.
  }
  throw invalid('query', 'undecodable query')
}

/** Other characters cannot be passed through unchanged. */
function assertVisible(query: string): void {
  if (!/^[!-~]*$/.test(query) || query.includes('#')) throw invalid('query', 'a query that cannot be passed through')
}

/**
 * Throws the 500 that the interface documents for some missing inputs. A portal can be configured to throw 400 instead.
 */
function assertNoObservedError(call: Call, settings: Configuration): void {
  const observed = observedErrors.get(call.operation.id)
  if (!observed || call.chain.perimeter !== 'portal' || !isMet(observed.condition, call)) return
  const { observedErrors: isCompatible } = settingsOfPortal(settings.portals, call.portal ?? 'CONSUMER').compatibility
  if (!isCompatible) throw invalid(observed.condition === 'no-query' ? 'query' : headers.channelSession.field)
  throw new Refusal(observed.code, { internal: `observed error: ${observed.condition}`, documented: true })
}

function isMet(condition: ObservedError['condition'], call: Call): boolean {
  return condition === 'no-query' ? call.query === '' : readChannelSessionId(call.headers) === null
}

/** `field` is for the message. */
interface FoundIssue extends InvalidField {
  field: string
  internal: string
}

/** The message names the first field. */
function refusalOf({ field, internal }: FoundIssue, issues: readonly FoundIssue[]): Refusal {
  const byName = new Map<string, InvalidField>()
  for (const { name, reason } of issues) if (!byName.has(name)) byName.set(name, { name, reason })
  return new Refusal('VALIDATION.INVALID_PARAMETER', { field, internal, fields: [...byName.values()] })
}

interface ParsedPart {
  part: 'query' | 'body'
  value: unknown
  /** Whether names of the value must not be shown. */
  hidesNames?: boolean
}

function parse(schema: z.ZodType, { part, value, hidesNames = false }: ParsedPart, issues: FoundIssue[]): unknown {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  for (const issue of result.error.issues) {
    const unknownNames = issue.code === 'unrecognized_keys' ? issue.keys : [undefined]
    for (const unknown of unknownNames) {
      const field = printableName(unknown === undefined ? issue.path : [...issue.path, unknown], part)
      const name = hidesNames ? printableName(issue.path, part) : field
      issues.push({ field, name, reason: reasonOf(issue, value), internal: `${part}: ${issue.code}` })
    }
  }
  return undefined
}

/** The response does not repeat unexpected names. */
function printableName(path: readonly PropertyKey[], fallback: string): string {
  const names = path.map((_, last) =>
    path
      .slice(0, last + 1)
      .map(String)
      .join('.'),
  )
  return names.findLast((name) => printable.test(name)) ?? fallback
}

function reasonOf(issue: z.core.$ZodIssue, value: unknown): string {
  if (issue.code === 'unrecognized_keys') return 'unknown'
  if (issue.code === 'custom') return typeof issue.params?.reason === 'string' ? issue.params.reason : 'invalid'
  if (issue.path.length > 0 && valueAt(value, issue.path) === undefined) return 'missing'
  return issue.code
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (within, name) => (typeof within === 'object' && within !== null ? Reflect.get(within, name) : undefined),
    value,
  )
}

function readQuery({ query: schema }: Operation, query: Record<string, string>, issues: FoundIssue[]): unknown {
  if (schema) return parse(schema, { part: 'query', value: query }, issues)
  for (const name of Object.keys(query))
    issues.push({ field: name, name, reason: 'unknown', internal: `invalid ${name}` })
  return query
}

/** A schema that reads a number from text can change it. */
function findInexact(query: Record<string, string>, parsed: unknown, issues: FoundIssue[]): void {
  if (!isRecord(parsed)) return
  for (const [name, text] of Object.entries(query))
    if (typeof parsed[name] === 'number' && isInexactNumber(text))
      issues.push({ field: name, name, reason: 'inexact', internal: 'query: inexact number' })
}

/** The database reads all pages before the requested one. */
function assertDepth(query: unknown): void {
  if (!isRecord(query) || typeof query.currentPage !== 'number' || typeof query.pageSize !== 'number') return
  if (query.currentPage * query.pageSize > maxListDepth)
    throw invalid('currentPage', `the page ends after record ${maxListDepth}; narrow the list, such as by startTime`)
}

/** The secure channel hides what the client has chosen, names included. Those of the contract are public. */
function readBody({ operation: { body }, payload, headers: received }: Call, issues: FoundIssue[]): unknown {
  if (body === 'multipart' || body === 'raw') return null
  const hidesNames = received.has(headers.channelSession.field)
  if (body !== 'none') return parse(body, { part: 'body', value: payload, hidesNames }, issues)
  if (!isEmpty(payload))
    issues.push({ field: 'body', name: 'body', reason: 'unknown', internal: 'this operation takes no body' })
  return null
}

function isEmpty(body: unknown): boolean {
  return body === undefined || (isRecord(body) && Object.keys(body).length === 0)
}
