import type { Json, JsonObject } from '../../../src/openapi/json.ts'

/** A recorded request to one operation and its response. */
export interface Exchanged {
  params?: JsonObject
  query?: JsonObject
  request?: Json
  /** The response envelope. For a stream, a description of the bytes. */
  reply: Json
}

/** An example to record. */
export type Observation =
  | { kind: 'success'; operationId: string; chainId: string; exchanged: Exchanged }
  | { kind: 'refusal'; code: string; reply: Json }
