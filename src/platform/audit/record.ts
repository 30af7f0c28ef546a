import type { Database, Statements, Tx } from '../../database/index.ts'
import type {
  AccountId,
  Caller,
  Idempotency,
  Instant,
  Portal,
  RequestContext,
  WorkspaceId,
} from '../../kernel/index.ts'
import { type AuditEntry, insertAuditEntry, newAuditEntry } from './store.ts'

/** The part of a request that an entry records. `accountId` is null if the caller is unknown. */
export interface AuditContext<Account extends AccountId | null = AccountId> {
  operationId: string
  accountId: Account
  /** The API key of the request, if any. Its creator is `accountId`. */
  apiKeyId: string | null
  portal: Portal
  at: Instant
  requestId: string
  /** The Idempotency-Key of the request, if any. */
  idempotencyKey?: string | null
  clientIp: string
}

/** The request has no token, but its operation may have identified the account by other means. */
export function unauthenticatedAuditContext<Account extends AccountId | null>(
  accountId: Account,
  {
    operationId,
    portal,
    requestId,
    clientIp,
  }: Pick<RequestContext, 'operationId' | 'portal' | 'requestId' | 'clientIp'>,
  at: Instant,
): AuditContext<Account> {
  return { operationId, accountId, apiKeyId: null, portal, at, requestId, clientIp }
}

/** For an authenticated request. */
export function auditContextOf(
  request: RequestContext & { caller: Caller; idempotency?: Idempotency | null },
): AuditContext {
  const { accountId, apiKeyId } = request.caller
  const idempotencyKey = request.idempotency?.key ?? null
  return { ...unauthenticatedAuditContext(accountId, request, request.receivedAt), apiKeyId, idempotencyKey }
}

type AnyContext = AuditContext<AccountId | null>

/** The object of an operation. */
interface Subject {
  workspaceId: WorkspaceId | null
  targetId: string | null
  detail?: AuditEntry['detail']
}

/** The operations whose success is in the log, by transaction. */
const recorded = new WeakMap<Database, Set<string>>()

export function markRecorded(tx: Database, operationId: string): void {
  recorded.set(tx, (recorded.get(tx) ?? new Set()).add(operationId))
}

/** Whether the transaction has an entry of a successful operation. A request id would not show it: clients reuse them. */
export function isRecorded(tx: Tx, operationId: string): boolean {
  return recorded.get(tx)?.has(operationId) === true
}

/** Inserts the entry of a successful operation, in its transaction. `once` inserts one if its work does not. */
export async function recordSuccess(tx: Tx, context: AnyContext, subject: Subject): Promise<void> {
  await insertAuditEntry(tx, { ...toEntry(context, subject), outcome: 'SUCCESS' })
  markRecorded(tx, context.operationId)
}

/** An entry of an operation that `once` does not run: send it in the transaction of its effect. */
export function entryOf(context: AnyContext, subject: Subject, outcome: AuditEntry['outcome']): Statements<unknown> {
  return newAuditEntry({ ...toEntry(context, subject), outcome })
}

/** Usually runs outside the operation's transaction, whose rollback would remove the entry. */
export function recordRefusal(
  store: Database | Tx,
  context: AnyContext,
  subject: Subject & { detail: { reason: string } },
): Promise<void> {
  return insertAuditEntry(store, { ...toEntry(context, subject), outcome: 'REFUSED' })
}

function toEntry(context: AnyContext, { workspaceId, targetId, detail }: Subject): Omit<AuditEntry, 'outcome'> {
  const { apiKeyId: apiKey, idempotencyKey = null } = context
  return {
    at: context.at,
    portal: context.portal,
    actorId: context.accountId,
    workspaceId,
    action: context.operationId,
    targetId,
    requestId: context.requestId,
    clientIp: context.clientIp,
    detail: {
      ...detail,
      ...(apiKey !== null && { apiKey }),
      ...(idempotencyKey !== null && idempotencyKey !== context.requestId && { idempotencyKey }),
    },
  }
}
