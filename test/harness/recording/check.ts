import { z } from 'zod'
import type { Operation } from '../../../src/kernel/index.ts'
import { isJsonObject, type Json } from '../../../src/openapi/json.ts'
import type { Exchanged } from './observation.ts'

function faultsOf(part: string, schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value)
  return (error?.issues ?? []).map(({ path, message }) => `${[part, ...path].join('.')}: ${message}`)
}

function dataOf(reply: Json | undefined): unknown {
  return isJsonObject(reply) && reply.success === true ? reply.data : undefined
}

export function faultsOfExample(operation: Operation, example: Partial<Exchanged>): string[] {
  const { query, body, reply } = operation
  const { request } = example
  return [
    ...(query ? faultsOf('query', query, example.query ?? {}) : example.query ? ['query: it takes none'] : []),
    ...(body instanceof z.ZodType ? faultsOf('request', body, request) : []),
    ...(body === 'none' && request !== undefined ? ['request: it takes none'] : []),
    ...(body === 'multipart' && !isJsonObject(request) ? ['request: no form'] : []),
    ...(reply instanceof z.ZodType ? faultsOf('reply', reply, dataOf(example.reply)) : []),
    ...(reply === 'stream' && typeof example.reply !== 'string' ? ['reply: nothing of its bytes'] : []),
  ]
}
