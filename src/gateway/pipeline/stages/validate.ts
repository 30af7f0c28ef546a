import type { z } from 'zod'
import type { Configuration } from '../../../config/index.ts'
import { headers } from '../../../contract/headers.ts'
import { type ObservedError, observedErrors } from '../../../contract/policies.ts'
import { invalid, isRecord, Refusal } from '../../../kernel/index.ts'
import type { Call, Stage } from '../call.ts'
import { readChannelSessionId } from '../headers.ts'
import { parsePathParameters } from '../path-parameters.ts'
import { parseQuery } from '../query.ts'

const printable = /^[\w.$-]{1,64}$/

/** Returns the path of the first invalid field, shortened to its printable part: unexpected names are not echoed. */
const invalidField = (error: z.ZodError, fallback: string): string => {
  const issue = error.issues[0]
  const path = issue?.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]] : (issue?.path ?? [])
  const names = path.map((_, last) =>
    path
      .slice(0, last + 1)
      .map(String)
      .join('.'),
  )
  return names.findLast((name) => printable.test(name)) ?? fallback
}

const parse = (schema: z.ZodType, value: unknown, part: 'query' | 'body'): unknown => {
  const result = schema.safeParse(value)
  if (!result.success) throw invalid(invalidField(result.error, part), `${part}: ${result.error.issues[0]?.code}`)
  return result.data
}

const isEmpty = (body: unknown): boolean => body === undefined || (isRecord(body) && Object.keys(body).length === 0)

const parseBody = ({ operation: { body }, payload }: Call): unknown => {
  if (body === 'multipart') return null
  if (body !== 'none') return parse(body, payload, 'body')
  if (!isEmpty(payload)) throw invalid('body', 'this operation takes no body')
  return null
}

const isMet = (condition: ObservedError['condition'], call: Call): boolean =>
  condition === 'no-query' ? call.query === '' : readChannelSessionId(call.headers) === null

/** Throws the 500s that the interface documents for some missing inputs; a portal may be configured to throw VAL instead. */
const assertNoObservedError = (call: Call, settings: Configuration): void => {
  const observed = observedErrors.get(call.operation.id)
  if (!observed || call.chain.perimeter !== 'portal' || !isMet(observed.condition, call)) return
  const { observedErrors: isCompatible } = settings.portals[call.portal ?? 'CONSUMER'].compatibility
  if (!isCompatible) throw invalid(observed.condition === 'no-query' ? 'query' : headers.channelSession.field)
  throw new Refusal(observed.code, { internal: `observed error: ${observed.condition}`, documented: true })
}

/** Validates path parameters, query and body against the operation's schemas. Rejects unknown, missing or repeated input. */
export const validateStage =
  (settings: Configuration): Stage =>
  (call) => {
    call.params = parsePathParameters(call.operation, call.params)
    assertNoObservedError(call, settings)
    const query = parseQuery(call.query)
    const { query: schema } = call.operation
    const unknown = Object.keys(query)[0]
    if (!schema && unknown !== undefined) throw invalid(unknown)
    call.input = { query: schema ? parse(schema, query, 'query') : query, body: parseBody(call) }
  }
