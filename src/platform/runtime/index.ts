/**
 * The process and the machine it runs on. system.ts holds the system's clock, ids and random numbers; everything else
 * gets them injected. process-tuning.ts adjusts V8 and thread priorities. deadline.ts has timers that are fair to a busy
 * process.
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
  IncomingMessage,
  limitHeapGrowth,
  lowerWorkerPriority,
  Server,
  ServerResponse,
} from './tuning.ts'
