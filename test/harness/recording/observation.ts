import type { Json, JsonObject } from '../../../src/openapi/json.ts'

/** A recorded request to one operation and its response. */
export interface Exchanged {
  params?: JsonObject
  query?: JsonObject
  request?: Json
  /** The envelope; of a stream, what its bytes are. */
  reply: Json
}

/** One request of a test file, ready to be kept. */
export type Observation =
  | { kind: 'success'; operationId: string; chainId: string; exchanged: Exchanged }
  | { kind: 'refusal'; code: string; reply: Json }
