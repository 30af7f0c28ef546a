import { sql } from 'kysely'
import { type Database, readPage, type Tx, timestamptz } from '../../database/index.ts'
import { type AccountId, type Instant, type Page, type PageRequest, type Portal, toDate } from '../../kernel/index.ts'

export type LoginFailure = 'INVALID_CREDENTIALS' | 'CODE_INVALID' | 'IP_NOT_ALLOWED'

export interface LoginHistoryEntry {
  id: string
  portal: Portal
  /** Nothing is inserted if no account has this id. */
  accountId: AccountId
  clientIp: string
  userAgent: string
  /** Null for a success. */
  failure: LoginFailure | null
}

const success = 1
const failed = 0

/**
 * Inserts a line into an account's login history. The statement is the same if the account does not exist, so that a
 * failed sign-in takes as long for an unknown address as for a known one.
 */
export const insertLoginHistory = async (tx: Tx, entry: LoginHistoryEntry, at: Instant): Promise<void> => {
  await sql`
    INSERT INTO login_history
      (biz_id, portal, account_biz_id, login_at, client_ip, user_agent, login_result, failure_reason)
    SELECT ${entry.id}::uuid, portal, biz_id, ${toDate(at)}::timestamptz, ${entry.clientIp}::text,
      ${entry.userAgent}::text, ${entry.failure === null ? success : failed}::int, ${entry.failure}::text
    FROM accounts WHERE portal = ${entry.portal} AND biz_id = ${entry.accountId}::uuid`.execute(tx)
}

export interface HistoryRequest extends PageRequest {
  portal: Portal
  accountId: AccountId
  from: Instant | undefined
  until: Instant | undefined
  sortOrder: 'asc' | 'desc'
}

export interface LoginHistoryLine {
  id: string
  loginAt: Instant
  clientIp: string
  userAgent: string
  loginResult: number
  failureReason: string | null
}

/** Returns a page of an account's sign-ins and failed sign-ins. */
export const listLoginHistory = (database: Database, request: HistoryRequest): Promise<Page<LoginHistoryLine>> => {
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
