import type { Code } from '../kernel/index.ts'

/**
 * Where the interface is observed to answer 500 for what is a caller's mistake (interface.md 4.3, 4.7). Documented
 * behaviour, not a fault; `compatibility.observedErrors: false` in a portal's configuration makes it a 400.
 */
export interface ObservedError {
  /** `no-query`: the call has no query parameter at all. `no-channel-session`: no header names a channel session. */
  condition: 'no-query' | 'no-channel-session'
  code: Code
}

export const observedErrors: ReadonlyMap<string, ObservedError> = new Map<string, ObservedError>([
  ['transfers.list', { condition: 'no-query', code: 'SYSTEM.INTERNAL_ERROR' }],
  ['secureChannel.close', { condition: 'no-channel-session', code: 'SYSTEM.INTERNAL_ERROR' }],
])
