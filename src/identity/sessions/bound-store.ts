import { sql } from 'kysely'
import { type AccountId, type Instant, type Portal, type SessionId, toDate } from '../../kernel/index.ts'
import { type Given, moment, statement, type Tx } from '../../platform/database/index.ts'
import type { SessionEnd } from '../../platform/database/tables/identity.ts'

export interface Ending {
  portal: Portal
  accountId: AccountId
  /** So many of the newest sessions stay. */
  keep: number
  /** Stays as well, and is not counted. */
  except: SessionId | null
  reason: SessionEnd
}

const endingOldest = statement((store, given: Given<Ending & { now: Date }>) =>
  store
    .updateTable('sessions')
    .set({ ended_at: given('now'), end_reason: given('reason') })
    .where('biz_id', 'in', (within) =>
      within
        .selectFrom('sessions')
        .select('biz_id')
        .where('portal', '=', given('portal'))
        .where('account_biz_id', '=', given('accountId'))
        .where('ended_at', 'is', null)
        .where('expires_at', '>', moment(given('now')))
        .where('idle_expires_at', '>', moment(given('now')))
        .where('biz_id', 'is distinct from', sql<SessionId>`${given('except')}::uuid`)
        .orderBy('login_at', 'desc')
        .orderBy('biz_id', 'desc')
        .offset(given('keep')),
    )
    .where('ended_at', 'is', null)
    .returning('biz_id'),
)

/** Ends an account's live sessions, the oldest first, down to `keep`. The caller holds the account's row. */
export const endOldestSessions = async (tx: Tx, ending: Ending, at: Instant): Promise<SessionId[]> => {
  const ended = await endingOldest.all(tx, { ...ending, now: toDate(at) })
  return ended.map((row) => row.biz_id)
}
