import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type {
  AccountId,
  AnyHandler,
  Clock,
  HandlerTable,
  Operation,
  Request,
  WorkspaceId,
} from '../../src/kernel/index.ts'
import { systemIds } from '../../src/platform/system/index.ts'
import { callerOf, type ReplyOf } from '../domains/world.ts'

export interface Asking {
  as: AccountId
  workspace?: WorkspaceId
  params?: Record<string, string>
  query?: Record<string, string>
  body?: unknown
  requestId?: string
}

const parsed = (schema: z.ZodType | string | undefined, value: unknown) =>
  typeof schema === 'object' ? schema.parse(value) : null

/** Calls handlers as the pipeline does after its stages: input and reply pass through the operation's schemas. */
export const asker =
  (tables: readonly HandlerTable[], clock: Clock) =>
  async <O extends Operation>(operation: O, asking: Asking): Promise<ReplyOf<O>> => {
    const handler = tables.map((table) => table.get(operation.id)).find((one): one is AnyHandler => one !== undefined)
    if (!handler) throw new Error(`no handler for ${operation.id}`)
    const { as, workspace, params = {}, query = {}, body, requestId = systemIds.next() } = asking
    const bodyHash = createHash('sha256')
      .update(JSON.stringify([params, body]))
      .digest('hex')
    const request = {
      operationId: operation.id,
      requestId,
      receivedAt: clock.now(),
      portal: workspace ? 'CONSUMER' : 'SYSTEM',
      locale: 'en',
      clientIp: '203.0.113.7',
      clientHash: 'hash',
      userAgent: 'test',
      country: 'DE',
      channelSessionId: null,
      range: null,
      ifNoneMatch: null,
      ifRange: null,
      headOnly: false,
      params,
      query: parsed(operation.query, query),
      body: parsed(operation.body, body),
      caller: callerOf(as, workspace ? 'CONSUMER' : 'SYSTEM'),
      workspace: workspace ? { id: workspace, isOwner: true, permissions: new Set() } : null,
      idempotency: operation.policy.idempotent ? { requestId, bodyHash } : null,
      upload: null,
    } as unknown as Request<Operation>
    return parsed(operation.reply as z.ZodType, await handler(request)) as ReplyOf<O>
  }
