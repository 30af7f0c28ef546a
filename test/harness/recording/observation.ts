import type { Json, JsonObject } from '../../../src/openapi/json.ts'

export interface Exchanged {
  params?: JsonObject
  query?: JsonObject
  request?: Json
  /** For a stream, a description of the bytes. */
  reply: Json
}

export type Observation =
  | { kind: 'success'; operationId: string; chainId: string; exchanged: Exchanged }
  | { kind: 'refusal'; code: string; reply: Json }
