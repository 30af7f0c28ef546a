import { sql } from 'kysely'
import { type Given, statement, type Tx } from '../../database/index.ts'
import { type AccountId, type Instant, type Portal, type SessionId, toDate } from '../../kernel/index.ts'
import { isRunning } from './running-store.ts'
import type { SessionEnd } from './schema.ts'

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
    .where('portal', '=', given('portal'))
    .where('account_biz_id', '=', given('accountId'))
    .where('ended_at', 'is', null)
    .where('biz_id', 'is distinct from', sql<SessionId>`${given('except')}::uuid`)
    .where('biz_id', 'not in', (within) =>
      within
        .selectFrom('sessions')
        .select('biz_id')
        .where('portal', '=', given('portal'))
        .where('account_biz_id', '=', given('accountId'))
        .where('ended_at', 'is', null)
        .where(isRunning(given('now')))
        .where('biz_id', 'is distinct from', sql<SessionId>`${given('except')}::uuid`)
        .orderBy('login_at', 'desc')
        .orderBy('biz_id', 'desc')
        .limit(given('keep')),
    )
    .returning(['biz_id', isRunning(given('now')).as('wasRunning')]),
)

/**
 * Ends an account's sessions, the oldest first, down to `keep`; answers those that were live. The ones that have run out
 * are ended with them, or they would be back once a clock that was ahead is set right. The caller holds the account's row.
 */
export const endOldestSessions = async (tx: Tx, ending: Ending, at: Instant): Promise<SessionId[]> => {
  const ended = await endingOldest.all(tx, { ...ending, now: toDate(at) })
  return ended.filter((row) => row.wasRunning).map((row) => row.biz_id)
}

/** The same for every one of them. */
export const endSessions = (
  tx: Tx,
  { portal, id }: { portal: Portal; id: AccountId },
  reason: SessionEnd,
  at: Instant,
): Promise<SessionId[]> => endOldestSessions(tx, { portal, accountId: id, keep: 0, except: null, reason }, at)
