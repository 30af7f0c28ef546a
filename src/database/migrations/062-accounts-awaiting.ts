import { type Kysely, sql } from 'kysely'

/** The approval queue: few among many, counted for the metrics and listed for operators. */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE INDEX accounts_awaiting_approval ON accounts (portal, created_at)
      WHERE account_status = 'PENDING_APPROVAL'`.execute(database)
}
