import { type Kysely, sql } from 'kysely'

/**
 * What identity is done with is found by its end, among millions that still count. On a large store the indexes may be there
 * already, made without holding up anybody (docs/production.md). Sessions come last: theirs is the lock that most wait for.
 */
const statements = [
  `CREATE INDEX IF NOT EXISTS login_failures_window ON login_failures (window_started_at)`,
  `CREATE INDEX IF NOT EXISTS refresh_tokens_expiry ON refresh_tokens (expires_at)`,
  `CREATE INDEX IF NOT EXISTS sessions_expiry ON sessions (expires_at)`,
]

export const up = async (database: Kysely<unknown>): Promise<void> => {
  for (const statement of statements) await sql.raw(statement).execute(database)
}
