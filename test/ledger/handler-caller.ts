import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { parsePathParameters } from '../../src/gateway/pipeline/stages/input.ts'
import type {
  AccountId,
  AnyHandler,
  Caller,
  Clock,
  HandlerTable,
  Operation,
  Request,
  WorkspaceId,
} from '../../src/kernel/index.ts'
import { systemIds } from '../../src/platform/runtime/index.ts'
import { callerOf, type ReplyOf } from '../banking/world.ts'
import { createRequestContext, parseInput } from '../harness/request-context.ts'

export interface HandlerRequest {
  as: AccountId | Caller
  workspace?: WorkspaceId
  params?: Record<string, string>
  query?: Record<string, string>
  body?: unknown
  requestId?: string
}

/** Parses the input and the reply like the pipeline. */
export function handlerCaller(tables: readonly HandlerTable[], clock: Clock) {
  return async <O extends Operation>(operation: O, input: HandlerRequest): Promise<ReplyOf<O>> => {
    const handler = tables.map((table) => table.get(operation.id)).find((one): one is AnyHandler => one !== undefined)
    if (!handler) throw new Error(`no handler for ${operation.id}`)
    const { as, workspace, params = {}, query = {}, body, requestId = systemIds.next() } = input
    const bodyHash = createHash('sha256')
      .update(JSON.stringify([params, body]))
      .digest('hex')
    const request = {
      ...createRequestContext(clock, {
        operationId: operation.id,
        requestId,
        portal: workspace ? 'CONSUMER' : 'SYSTEM',
      }),
      clientIp: '203.0.113.7',
      params: parsePathParameters(operation, params),
      query: parseInput(operation.query, query),
      body: parseInput(operation.body, body),
      caller: typeof as === 'string' ? callerOf(as, workspace ? 'CONSUMER' : 'SYSTEM') : as,
      workspace: workspace ? { id: workspace, isOwner: true, permissions: new Set() } : null,
      idempotency: operation.policy.idempotent ? { key: requestId, bodyHash } : null,
      upload: null,
    } as unknown as Request<Operation>
    const reply = await handler(request)
    return (operation.reply as z.ZodType).parse(reply) as ReplyOf<O>
  }
}
