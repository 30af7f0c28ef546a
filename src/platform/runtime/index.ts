/*
 * The process and the machine that it runs on. `system.ts` has the system's clock, ids and random numbers, which everything
 * else gets injected, and timers that are fair to a busy process. `tuning.ts` tunes the Node process.
 */
import type { Readable } from 'node:stream'

declare module '../../kernel/request.ts' {
  /** On a server, byte streams are Node's readable streams. */
  interface ByteStream extends Readable {}
}

export { setDeadline, systemClock, systemIds, systemRandomness, withTimeout } from './system.ts'
export {
  Agent,
  countStreamedBytes,
  createMessageClasses,
  IncomingMessage,
  Server,
  ServerResponse,
  tuneProcess,
} from './tuning.ts'
