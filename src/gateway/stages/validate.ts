import type { z } from 'zod'
import type { Configuration } from '../../config/index.ts'
import { type ObservedError, observedErrors } from '../../contract/refusals.ts'
import { invalid, isRecord, Refusal } from '../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import { namedChannelSession } from '../named-channel-session.ts'
import { parsePathParameters } from '../path-parameters.ts'
import { parseQuery } from '../query.ts'

const printable = /^[\w.$-]{1,64}$/

/** The first field at fault, by its path as far as it can be shown: a client's own strange name is not repeated back. */
const fieldOf = (error: z.ZodError, otherwise: string): string => {
  const issue = error.issues[0]
  const path = issue?.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]] : (issue?.path ?? [])
  const names = path.map((_, last) =>
    path
      .slice(0, last + 1)
      .map(String)
      .join('.'),
  )
  return names.findLast((name) => printable.test(name)) ?? otherwise
}

const parse = (schema: z.ZodType, value: unknown, what: string): unknown => {
  const result = schema.safeParse(value)
  if (!result.success) throw invalid(fieldOf(result.error, what), `${what}: ${result.error.issues[0]?.code}`)
  return result.data
}

const isEmpty = (body: unknown): boolean => body === undefined || (isRecord(body) && Object.keys(body).length === 0)

const bodyOf = ({ operation: { body }, payload }: Call): unknown => {
  if (body === 'multipart') return null
  if (body !== 'none') return parse(body, payload, 'body')
  if (!isEmpty(payload)) throw invalid('body', 'this operation takes no body')
  return null
}

const meets = (call: Call, condition: ObservedError['condition']): boolean =>
  condition === 'no-query' ? call.query === '' : namedChannelSession(call.headers) === null

/** The observed 500s that the interface states a condition for; a portal's configuration makes them plain VAL. */
const observedError = (call: Call, settings: Configuration): void => {
  const observed = observedErrors.get(call.operation.id)
  if (!observed || call.chain.perimeter !== 'portal' || !meets(call, observed.condition)) return
  const kept = settings.portals[call.portal ?? 'CONSUMER'].compatibility.observedErrors
  if (!kept) throw invalid(observed.condition === 'no-query' ? 'query' : 'x-secure-channel-session-id')
  throw new Refusal(observed.code, { internal: `observed error: ${observed.condition}`, documented: true })
}

/** Validates path parameters, query and body against the operation's schemas: no unknown, missing or repeated input. */
export const validate =
  (settings: Configuration): Stage =>
  (call) => {
    call.params = parsePathParameters(call.operation, call.params)
    observedError(call, settings)
    const query = parseQuery(call.query)
    const { query: schema } = call.operation
    const unknown = Object.keys(query)[0]
    if (!schema && unknown !== undefined) throw invalid(unknown)
    call.input = { query: schema ? parse(schema, query, 'query') : query, body: bodyOf(call) }
  }
