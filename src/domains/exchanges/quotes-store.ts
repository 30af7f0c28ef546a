import { sql } from 'kysely'
import type { Database, Tx } from '../../database/index.ts'
import { type Instant, toDate, type WorkspaceId } from '../../kernel/index.ts'

/** Deletes at most so many of the quotes that ran out by then and were not used, of every workspace; says how many. */
export const deleteUnusedQuotes = async (database: Database, until: Instant, most: number): Promise<number> => {
  const { numAffectedRows = 0n } = await sql`
    DELETE FROM exchange_quotes WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM exchange_quotes WHERE order_biz_id IS NULL AND expires_at <= ${toDate(until)}::timestamptz
       ORDER BY expires_at LIMIT ${most}))`.execute(database)
  return Number(numAffectedRows)
}

/** For a sandbox that is emptied. */
export const deleteQuotesOf = async (tx: Tx, workspace: WorkspaceId): Promise<void> => {
  await tx.deleteFrom('exchange_quotes').where('workspace_biz_id', '=', workspace).execute()
}
