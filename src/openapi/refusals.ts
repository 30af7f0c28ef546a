import { numericCode, statusOf } from '../contract/index.ts'
import { listRefusals, observedErrors } from '../contract/refusals.ts'
import { type ChainId, type Code, chains, type Operation } from '../kernel/index.ts'
import { type Json, type JsonObject, reference } from './json.ts'
import { responseHeaders } from './replies.ts'

/** The public sentence of a code, in English. */
export type Sentence = (code: Code) => string

export interface RefusalResponses {
  /** The answers of an operation's refusals by status, each pointing to a component. */
  of(operation: Operation, chainId: ChainId): Record<string, JsonObject>
  /** What has been pointed to so far. */
  components: Record<string, JsonObject>
}

/** Fields that a refusal has beside every answer's own. */
const fieldsOf = (code: Code): Record<string, string> => {
  if (code === 'FILE.RANGE_NOT_SATISFIABLE') return { 'Content-Range': 'ContentRange' }
  if (statusOf(code) === 401) return { 'WWW-Authenticate': 'WwwAuthenticate' }
  const waits = code === 'ACCESS.RATE_LIMITED' || code === 'REQUEST.IN_PROGRESS' || statusOf(code) === 503
  return waits ? { 'Retry-After': 'RetryAfter' } : {}
}

const observed = {
  'no-query': 'Also the documented answer to a call without any query parameter.',
  'no-channel-session': 'Also the documented answer to a call that names no session.',
} as const

/** Answers that are the same for many operations stand once, named by their codes, with the envelopes that were seen. */
export const createRefusalResponses = (sentence: Sentence, recorded: ReadonlyMap<string, Json>): RefusalResponses => {
  const components: Record<string, JsonObject> = {}

  const examplesOf = (names: readonly string[]): JsonObject => {
    const seen = names.flatMap((name) => {
      const value = recorded.get(name)
      return value === undefined ? [] : [[name, { value }] as const]
    })
    return seen.length === 0 ? {} : { examples: Object.fromEntries(seen) }
  }

  const answer = (status: string, given: readonly Code[], self: boolean, note: string): JsonObject => ({
    description: [...given.map((code) => `\`${self ? numericCode(code) : code}\`: ${sentence(code)}.`), note]
      .filter(Boolean)
      .join('\n\n'),
    ...responseHeaders(Object.fromEntries(given.flatMap((code) => Object.entries(fieldsOf(code))))),
    content: {
      'application/json': {
        schema: {
          allOf: [
            reference('schemas', self ? 'SelfRefusal' : 'Refusal'),
            { type: 'object', properties: { code: { type: 'string', enum: self ? [`${status}0`] : [...given] } } },
          ],
        },
        ...examplesOf(self ? [`${status}0`] : given),
      },
    },
  })

  return {
    components,
    of: (operation, chainId) => {
      const byStatus = new Map<string, Code[]>()
      for (const code of listRefusals(operation, chainId)) {
        const status = String(statusOf(code))
        byStatus.set(status, [...(byStatus.get(status) ?? []), code])
      }
      const condition = chains[chainId].perimeter === 'portal' ? observedErrors.get(operation.id) : undefined
      return Object.fromEntries(
        [...byStatus].map(([status, given]) => {
          const note = condition && given.includes(condition.code) ? observed[condition.condition] : ''
          const parts = [chainId === 'self' ? 'self' : '', ...given, note === '' ? '' : (condition?.condition ?? '')]
          const name = parts.filter(Boolean).join('-')
          components[name] ??= answer(status, given, chainId === 'self', note)
          return [status, reference('responses', name)]
        }),
      )
    },
  }
}
