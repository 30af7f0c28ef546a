import { type Kysely, sql } from 'kysely'

/** The logins of an account that a new password ends: few, while the table holds everybody's of a day. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE INDEX login_sessions_under_way ON login_sessions (account_biz_id)
      WHERE account_biz_id IS NOT NULL AND spent_at IS NULL`.execute(database)
}
