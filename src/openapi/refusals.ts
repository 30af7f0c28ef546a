import { numericCode, statusOf } from '../contract/index.ts'
import { listRefusals, observedErrors } from '../contract/policies.ts'
import { type ChainId, type Code, chains, type Operation } from '../kernel/index.ts'
import { type Json, type JsonObject, reference } from './json.ts'
import { responseHeaders } from './replies.ts'

/** The English public sentence of a code. */
export type Sentence = (code: Code) => string

export interface RefusalResponses {
  /** The refusals of an operation on a chain by status, each a reference to a component. */
  of(operation: Operation, chainId: ChainId): Record<string, JsonObject>
  /** The components referenced so far. */
  components: Record<string, JsonObject>
}

/** The additional response headers of a refusal. */
const headersOf = (code: Code): Record<string, string> => {
  if (code === 'FILE.RANGE_NOT_SATISFIABLE') return { 'Content-Range': 'ContentRange' }
  if (statusOf(code) === 401) return { 'WWW-Authenticate': 'WwwAuthenticate' }
  const hasRetryAfter = code === 'ACCESS.RATE_LIMITED' || code === 'REQUEST.IN_PROGRESS' || statusOf(code) === 503
  return hasRetryAfter ? { 'Retry-After': 'RetryAfter' } : {}
}

const observedNotes = {
  'no-query': 'Also the documented answer to a call without any query parameter.',
  'no-channel-session': 'Also the documented answer to a call that names no session.',
} as const

/** Refusals as shared components, named by their codes, with recorded envelopes as examples. */
export const createRefusalResponses = (sentence: Sentence, recorded: ReadonlyMap<string, Json>): RefusalResponses => {
  const components: Record<string, JsonObject> = {}

  const examplesOf = (names: readonly string[]): JsonObject => {
    const found = names.flatMap((name) => {
      const value = recorded.get(name)
      return value === undefined ? [] : [[name, { value }] as const]
    })
    return found.length === 0 ? {} : { examples: Object.fromEntries(found) }
  }

  const toResponse = (status: string, codes: readonly Code[], self: boolean, note: string): JsonObject => ({
    description: [...codes.map((code) => `\`${self ? numericCode(code) : code}\`: ${sentence(code)}.`), note]
      .filter(Boolean)
      .join('\n\n'),
    ...responseHeaders(Object.fromEntries(codes.flatMap((code) => Object.entries(headersOf(code))))),
    content: {
      'application/json': {
        schema: {
          allOf: [
            reference('schemas', self ? 'SelfRefusal' : 'Refusal'),
            { type: 'object', properties: { code: { type: 'string', enum: self ? [`${status}0`] : [...codes] } } },
          ],
        },
        ...examplesOf(self ? [`${status}0`] : codes),
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
        [...byStatus].map(([status, codes]) => {
          const note = condition && codes.includes(condition.code) ? observedNotes[condition.condition] : ''
          const parts = [chainId === 'self' ? 'self' : '', ...codes, note === '' ? '' : (condition?.condition ?? '')]
          const name = parts.filter(Boolean).join('-')
          components[name] ??= toResponse(status, codes, chainId === 'self', note)
          return [status, reference('responses', name)]
        }),
      )
    },
  }
}
