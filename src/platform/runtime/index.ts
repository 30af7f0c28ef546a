/*
 * The process and its machine. Start with `system.ts`: the clock, ids and random numbers, which are injected everywhere
 * else, and timers that tolerate a busy process. `tuning.ts` tunes the Node process.
 */
import type { Duplex, Readable } from 'node:stream'

declare module '../../kernel/request.ts' {
  /** On a server, byte streams are Node's readable streams. */
  interface ByteStream extends Readable {}
  interface ByteChannel extends Duplex {}
}

export { lookup, lookupInTurn, lookupPublic, shareResolver } from './resolver.ts'
export {
  replicaName,
  setDeadline,
  systemClock,
  systemDurations,
  systemIds,
  systemRandomness,
  waitFor,
  withTimeout,
} from './system.ts'
export {
  Agent,
  countStreamedBytes,
  createMessageClasses,
  IncomingMessage,
  Server,
  ServerResponse,
  tuneProcess,
} from './tuning.ts'
