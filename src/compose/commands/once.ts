import type { IdempotentRequest } from '../../api/ports.ts'
import { internalError, replyText } from '../../backends/index.ts'
import { type Configuration, maxReplyBytesOf } from '../../config/index.ts'
import type { Catalogue } from '../../contract/index.ts'
import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import { domainOf, isRecord, parseChecked } from '../../kernel/index.ts'
import { idempotencyKeyOf, type Ledger } from '../../ledger/index.ts'
import { auditContextOf, isRecorded, recordSuccess } from '../../platform/audit/index.ts'

export interface OncePorts {
  database: Database
  ledger: Ledger
  /** Returns the JSON text of a reply without undeclared properties. Throws if it is invalid. */
  checkReply(operationId: string, reply: unknown): string
}

export function createReplyCheck(
  { operations }: Pick<Catalogue, 'operations'>,
  settings: Configuration,
): OncePorts['checkReply'] {
  const schemas = new Map(operations.map(({ id, reply }) => [id, reply]))
  return (operationId, reply) => {
    const schema = schemas.get(operationId)
    if (schema === undefined || typeof schema === 'string') throw new Error(`${operationId} has no JSON reply to store`)
    return replyText(schema, reply, maxReplyBytesOf(settings, domainOf(operationId)), internalError)
  }
}

/** The command, its audit entry and its stored reply share one transaction, which an invalid reply rolls back. */
export function runOnce<Reply>(
  { database, ledger, checkReply }: OncePorts,
  request: IdempotentRequest,
  work: (tx: Tx) => Promise<Reply>,
): Promise<Reply> {
  const { operationId } = request
  const workspaceId = request.workspace?.id ?? null
  const runInTransaction = async (tx: Tx): Promise<Reply> => {
    const within = ledger.within(tx)
    const key = idempotencyKeyOf(request, workspaceId)
    const stored = await within.findStoredResult(key)
    // A stored reply of the same operation and body has the same type.
    if (stored) return parseChecked(JSON.stringify(stored.result)) as Reply
    // What is stored and sent is the JSON text, so it must match the schema too.
    const text = checkReply(operationId, JSON.parse(checkReply(operationId, await work(tx))))
    const reply = parseChecked(text) as Reply
    if (!isRecorded(tx, operationId))
      await recordSuccess(tx, auditContextOf(request), { workspaceId, targetId: targetOf(reply) })
    await within.storeResult(key, reply)
    return reply
  }
  return inTransaction(database, runInTransaction, { owner: operationId, port: 'once' })
}

function targetOf(reply: unknown): string | null {
  return isRecord(reply) && typeof reply.bizId === 'string' ? reply.bizId : null
}
