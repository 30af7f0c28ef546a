import { days, type Instant, plus } from '../kernel/index.ts'
import { type Database, moment } from '../platform/database/index.ts'
import type { Allowance } from './settings.ts'

/** Long enough to answer a question about what happened; nothing here is looked at any more. */
const kept = days(30)
const keptBriefly = days(1)

/**
 * Deletes what can never count again: spent or expired logins and codes, old failures, sessions long over with their
 * refresh tokens. Failures count for their window, however long that is. History and the audit log stay. For a job, now
 * and then; harmless on several replicas.
 */
export const sweepIdentity = async (
  database: Database,
  now: Instant,
  { windowMs }: Pick<Allowance, 'windowMs'>,
): Promise<void> => {
  const briefly = moment(plus(now, -keptBriefly))
  const uncounted = moment(plus(now, -Math.max(keptBriefly, windowMs)))
  const longAgo = moment(plus(now, -kept))
  await database.deleteFrom('one_time_codes').where('expires_at', '<', briefly).execute()
  await database.deleteFrom('login_sessions').where('expires_at', '<', briefly).execute()
  await database
    .deleteFrom('login_failures')
    .where('window_started_at', '<', uncounted)
    .where((row) => row.or([row('blocked_until', 'is', null), row('blocked_until', '<', uncounted)]))
    .execute()
  await database.deleteFrom('password_tokens').where('expires_at', '<', briefly).execute()
  await database.deleteFrom('sessions').where('expires_at', '<', longAgo).execute()
}
