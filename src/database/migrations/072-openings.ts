import { type Kysely, sql } from 'kysely'

/**
 * What was put into an account from outside, few entries among all of it: each start asks for the house's liquidity. On a large
 * store the index may be there already, made without holding up anybody (docs/production.md).
 */
export const up = async (database: Kysely<unknown>): Promise<void> => {
  await sql`
    CREATE INDEX IF NOT EXISTS ledger_entries_opening ON ledger_entries (account_biz_id)
      WHERE flow_type = 'OPENING'`.execute(database)
}
