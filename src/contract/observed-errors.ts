import type { Code } from '../kernel/index.ts'

/**
 * A caller's mistake for which the interface documents the status 500. With `compatibility.observedErrors: false`, a
 * portal responds with 400.
 */
export interface ObservedError {
  condition: 'no-query' | 'no-channel-session'
  code: Code
}

export const observedErrors: ReadonlyMap<string, ObservedError> = new Map<string, ObservedError>([
  ['transfers.list', { condition: 'no-query', code: 'SYSTEM.INTERNAL_ERROR' }],
  ['secureChannel.close', { condition: 'no-channel-session', code: 'SYSTEM.INTERNAL_ERROR' }],
])
