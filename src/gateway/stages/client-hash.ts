import { invalid } from '../../kernel/index.ts'
import type { Stage } from '../call.ts'

const pattern = /^[\x21-\x7e]{1,256}$/

/** X-Client-Hash, the client's fingerprint (interface.md section 5, 2). Machines need none, but one that comes is kept. */
export const clientHash: Stage = (call) => {
  const value = call.headers.optional('x-client-hash')
  if (value === undefined && call.chain.perimeter === 'machine') return
  if (value === undefined || !pattern.test(value)) throw invalid('x-client-hash')
  call.clientHash = value
}
