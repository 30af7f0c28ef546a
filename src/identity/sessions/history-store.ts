import { sql } from 'kysely'
import {
  commitWith,
  type Database,
  inTransaction,
  rawQuery,
  readPage,
  type Statements,
  timestamptz,
  together,
} from '../../database/index.ts'
import {
  type AccountId,
  type Instant,
  type Page,
  type PageRequest,
  type Portal,
  type RequestContext,
  toDate,
} from '../../kernel/index.ts'
import { entryOf, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import type { IdentityPorts } from '../ports.ts'

export type LoginFailure = 'INVALID_CREDENTIALS' | 'CODE_INVALID' | 'PASSKEY_INVALID' | 'IP_NOT_ALLOWED'

const success = 1
const failed = 0

/** Both ends of the interval are inclusive. */
export interface HistoryRequest extends PageRequest {
  portal: Portal
  accountId: AccountId
  from: Instant | undefined
  until: Instant | undefined
  sortOrder: 'asc' | 'desc'
}

export interface LoginHistoryEntry {
  id: string
  loginAt: Instant
  clientIp: string
  userAgent: string
  loginResult: number
  failureReason: string | null
}

export function listLoginHistory(database: Database, request: HistoryRequest): Promise<Page<LoginHistoryEntry>> {
  const { from, until } = request
  let matching = database
    .selectFrom('login_history')
    .where('portal', '=', request.portal)
    .where('accountBizId', '=', request.accountId)
  if (from !== undefined) matching = matching.where('loginAt', '>=', timestamptz(from))
  if (until !== undefined) matching = matching.where('loginAt', '<=', timestamptz(until))
  const ordered = matching
    .select(['bizId as id', 'loginAt', 'clientIp', 'userAgent', 'loginResult', 'failureReason'])
    .orderBy('loginAt', request.sortOrder)
    .orderBy('bizId', request.sortOrder)
  return readPage(matching, ordered, request)
}

interface LoginResult {
  accountId: AccountId | null
  failure: LoginFailure | null
  method: string | null
  passkeyId?: string | undefined
}

export function recordLogin(
  ports: IdentityPorts,
  login: { accountId: AccountId; method: string; passkeyId?: string | undefined },
  facts: RequestContext,
  at: Instant,
): Statements<unknown> {
  return recordResult(ports, { ...login, failure: null }, facts, at)
}

export function recordFailedLogin(ports: IdentityPorts, failed: LoginResult, facts: RequestContext): Promise<void> {
  return inTransaction(ports.database, async () =>
    commitWith([recordResult(ports, failed, facts, ports.clock.now())], () => undefined),
  )
}

/** The login history is for the owner, the audit log for operators. */
function recordResult(
  { ids }: IdentityPorts,
  { accountId, failure, method, passkeyId }: LoginResult,
  facts: RequestContext,
  at: Instant,
): Statements<unknown> {
  const { portal, clientIp, userAgent } = facts
  const entry = { id: ids.next<'login'>(), portal, clientIp, userAgent, failure }
  const auditContext = unauthenticatedAuditContext(accountId, facts, at)
  const target = { workspaceId: null, targetId: accountId }
  const factor = { ...(method !== null && { method }), ...(passkeyId !== undefined && { passkey: passkeyId }) }
  return together([
    insertLoginHistory({ ...entry, accountId: accountId ?? ids.next<'account'>() }, at),
    failure === null
      ? entryOf(auditContext, { ...target, detail: factor }, 'SUCCESS')
      : entryOf(auditContext, { ...target, detail: { ...factor, reason: failure } }, 'REFUSED'),
  ])
}

interface NewHistoryEntry {
  id: string
  portal: Portal
  accountId: AccountId
  clientIp: string
  userAgent: string
  failure: LoginFailure | null
}

/** The same statement runs for an unknown account, so that the response time does not reveal accounts. */
function insertLoginHistory(entry: NewHistoryEntry, at: Instant): Statements<unknown> {
  return rawQuery(sql`
    INSERT INTO login_history
      (biz_id, portal, account_biz_id, login_at, client_ip, user_agent, login_result, failure_reason)
    SELECT ${entry.id}::uuid, portal, biz_id, ${toDate(at)}::timestamptz, ${entry.clientIp}::text,
      ${entry.userAgent}::text, ${entry.failure === null ? success : failed}::int, ${entry.failure}::text
    FROM accounts WHERE portal = ${entry.portal} AND biz_id = ${entry.accountId}::uuid`)
}
