import { type Database, timestamptz } from '../../../database/index.ts'
import { type AccountId, type Instant, toIso } from '../../../kernel/index.ts'
import { everyRow, type Row, type Source } from './source.ts'

const columns = ['bizId', 'loginTime', 'clientIp', 'userAgent', 'loginResult', 'failureReason'] as const

/** An account's own logins, oldest first. The table belongs to identity. */
export const loginHistorySource = (
  store: Database,
  { account, from: start, to }: { account: AccountId; from: Instant | undefined; to: Instant | undefined },
  pageSize: number,
): Source => {
  const page = ({ from, currentPage }: { from: Instant | undefined; currentPage: number }) => {
    let found = store.selectFrom('login_history').where('account_biz_id', '=', account)
    if (from !== undefined) found = found.where('login_at', '>=', timestamptz(from))
    if (to !== undefined) found = found.where('login_at', '<=', timestamptz(to))
    return found
      .select(['biz_id as bizId', 'login_at as createdAt', 'client_ip as clientIp', 'user_agent as userAgent'])
      .select(['login_result as loginResult', 'failure_reason as failureReason'])
      .orderBy('login_at')
      .orderBy('biz_id')
      .limit(pageSize)
      .offset((currentPage - 1) * pageSize)
      .execute()
  }

  async function* rows(): AsyncGenerator<Row> {
    for await (const { createdAt, ...login } of everyRow(page, start, pageSize))
      yield { ...login, loginTime: toIso(createdAt) }
  }
  return { columns, rows: rows() }
}
