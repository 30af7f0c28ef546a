import { codes, numericCode } from '../../../src/contract/index.ts'
import type { RouteMatch } from '../../../src/gateway/pipeline/router.ts'
import { parseQuery } from '../../../src/gateway/pipeline/stages/input.ts'
import { isJsonObject, type Json, type JsonObject, toJsonObject } from '../../../src/openapi/json.ts'
import { faultsOfExample } from './check.ts'
import { normaliser } from './normalise.ts'
import type { Exchanged, Observation } from './observation.ts'

/** A request and its response in plaintext. */
export interface Seen {
  match: RouteMatch
  query: string
  request: Json | undefined
  status: number
  reply: Json
}

const codeNames = new Set<string>([...codes, ...codes.map(numericCode)])

function some(members: Record<string, string>): JsonObject | undefined {
  return Object.keys(members).length === 0 ? undefined : toJsonObject(members)
}

function refusalOf(reply: Json): Observation | null {
  if (!isJsonObject(reply) || reply.success !== false || typeof reply.code !== 'string') return null
  if (!codeNames.has(reply.code)) return null
  return { kind: 'refusal', code: reply.code, reply: normaliser(0)(reply) }
}

/** Null if the request or the response violates its schema. */
export function observationOf({ match, query, request, status, reply }: Seen): Observation | null {
  const { operation, chainId, params } = match
  if (status >= 400) return refusalOf(reply)
  if (status !== 200 || operation.protocol !== undefined) return null
  const at = isJsonObject(reply) && typeof reply.timestamp === 'number' ? reply.timestamp : 0
  const normal = normaliser(at)
  const sent = toJsonObject({ params: some(params), query: some(parseQuery(query)), request })
  const { params: inPath, query: requested, request: body } = toJsonObject(normal(sent))
  const exchanged: Exchanged = {
    ...(isJsonObject(inPath) && { params: inPath }),
    ...(isJsonObject(requested) && { query: requested }),
    ...(body !== undefined && { request: body }),
    reply: normal(reply),
  }
  if (faultsOfExample(operation, exchanged).length > 0) return null
  return { kind: 'success', operationId: operation.id, chainId, exchanged }
}
