import { sql } from 'kysely'
import { type Database, inTransaction, readPage, type Tx, timestamptz } from '../../database/index.ts'
import {
  type AccountId,
  type Instant,
  type Page,
  type PageRequest,
  type Portal,
  type RequestContext,
  toDate,
} from '../../kernel/index.ts'
import { recordRefusal, recordSuccess, unauthenticatedAuditContext } from '../../platform/audit/index.ts'
import type { IdentityPorts } from '../ports.ts'

/** Why a sign-in failed. */
export type LoginFailure = 'INVALID_CREDENTIALS' | 'CODE_INVALID' | 'IP_NOT_ALLOWED'

interface NewHistoryEntry {
  id: string
  portal: Portal
  /** If no account has this id, nothing is inserted. */
  accountId: AccountId
  clientIp: string
  userAgent: string
  /** Null for a success. */
  failure: LoginFailure | null
}

const success = 1
const failed = 0

/**
 * Inserts an entry into an account's login history. An unknown account takes the same statement, so that the response time
 * of a failed sign-in does not reveal which addresses have an account.
 */
const insertLoginHistory = async (tx: Tx, entry: NewHistoryEntry, at: Instant): Promise<void> => {
  await sql`
    INSERT INTO login_history
      (biz_id, portal, account_biz_id, login_at, client_ip, user_agent, login_result, failure_reason)
    SELECT ${entry.id}::uuid, portal, biz_id, ${toDate(at)}::timestamptz, ${entry.clientIp}::text,
      ${entry.userAgent}::text, ${entry.failure === null ? success : failed}::int, ${entry.failure}::text
    FROM accounts WHERE portal = ${entry.portal} AND biz_id = ${entry.accountId}::uuid`.execute(tx)
}

/** A request for a page of an account's login history. Both limits of the interval are inclusive. */
export interface HistoryRequest extends PageRequest {
  portal: Portal
  accountId: AccountId
  from: Instant | undefined
  until: Instant | undefined
  sortOrder: 'asc' | 'desc'
}

/** A sign-in or failed sign-in of an account. */
export interface LoginHistoryEntry {
  id: string
  loginAt: Instant
  clientIp: string
  userAgent: string
  loginResult: number
  failureReason: string | null
}

/** Returns a page of an account's login history. */
export const listLoginHistory = (database: Database, request: HistoryRequest): Promise<Page<LoginHistoryEntry>> => {
  const { from, until } = request
  let matching = database
    .selectFrom('login_history')
    .where('portal', '=', request.portal)
    .where('account_biz_id', '=', request.accountId)
  if (from !== undefined) matching = matching.where('login_at', '>=', timestamptz(from))
  if (until !== undefined) matching = matching.where('login_at', '<=', timestamptz(until))
  const ordered = matching
    .select([
      'biz_id as id',
      'login_at as loginAt',
      'client_ip as clientIp',
      'user_agent as userAgent',
      'login_result as loginResult',
      'failure_reason as failureReason',
    ])
    .orderBy('login_at', request.sortOrder)
    .orderBy('biz_id', request.sortOrder)
  return readPage(matching, ordered, request)
}

interface LoginResult {
  /** Null if no account has the e-mail address. */
  accountId: AccountId | null
  /** Null for a success. */
  failure: LoginFailure | null
  /** The second factor that was verified; null if none was. */
  method: string | null
}

/** Records a result in the login history, which the owner sees, and in the audit log, which operators see. */
const recordResult = async (
  { ids }: IdentityPorts,
  tx: Tx,
  { accountId, failure, method }: LoginResult,
  facts: RequestContext,
  at: Instant,
): Promise<void> => {
  const { portal, clientIp, userAgent } = facts
  const entry = { id: ids.next<'login'>(), portal, clientIp, userAgent, failure }
  await insertLoginHistory(tx, { ...entry, accountId: accountId ?? ids.next<'account'>() }, at)
  const auditContext = unauthenticatedAuditContext(accountId, facts, at)
  const target = { workspaceId: null, targetId: accountId }
  const factor = method === null ? {} : { method }
  if (failure === null) await recordSuccess(tx, auditContext, { ...target, detail: factor })
  else await recordRefusal(tx, auditContext, { ...target, detail: { ...factor, reason: failure } })
}

/** Records a completed sign-in in the transaction that starts its session. */
export const recordLogin = (
  ports: IdentityPorts,
  tx: Tx,
  login: { accountId: AccountId; method: string },
  facts: RequestContext,
  at: Instant,
): Promise<void> => recordResult(ports, tx, { ...login, failure: null }, facts, at)

/** Records a failed sign-in in a new transaction. */
export const recordFailedLogin = (ports: IdentityPorts, failed: LoginResult, facts: RequestContext): Promise<void> =>
  inTransaction(ports.database, (tx) => recordResult(ports, tx, failed, facts, ports.clock.now()))
