import { type AccountId, type Instant, type Portal, toDate } from '../../kernel/index.ts'
import type { Tx } from '../../platform/database/index.ts'

export type LoginFailure = 'INVALID_CREDENTIALS' | 'CODE_INVALID'

export interface LoginHistoryEntry {
  id: string
  portal: Portal
  accountId: AccountId
  clientIp: string
  userAgent: string
  /** Null for a success. */
  failure: LoginFailure | null
}

const success = 1
const failed = 0

/** One line of an account's login history (interface.md 2.10). */
export const insertLoginHistory = async (tx: Tx, entry: LoginHistoryEntry, at: Instant): Promise<void> => {
  await tx
    .insertInto('login_history')
    .values({
      biz_id: entry.id,
      portal: entry.portal,
      account_biz_id: entry.accountId,
      login_at: toDate(at),
      client_ip: entry.clientIp,
      user_agent: entry.userAgent,
      login_result: entry.failure === null ? success : failed,
      failure_reason: entry.failure,
    })
    .execute()
}
