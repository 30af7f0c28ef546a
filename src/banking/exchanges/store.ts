import { sql } from 'kysely'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  type BizId,
  type Instant,
  toDate,
  type WalletId,
  type WorkspaceId,
} from '../../kernel/index.ts'

/** Deletes up to `limit` unused quotes that expired at or before `until`. Returns the number of deleted quotes. */
export async function deleteUnusedQuotes(database: Database, until: Instant, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    DELETE FROM exchange_quotes WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM exchange_quotes WHERE order_biz_id IS NULL AND expires_at <= ${toDate(until)}::timestamptz
       ORDER BY expires_at LIMIT ${limit}))`.execute(database)
  return Number(numAffectedRows)
}

export async function deleteQuotes(tx: Tx, workspace: WorkspaceId): Promise<void> {
  await tx.deleteFrom('exchange_quotes').where('workspaceBizId', '=', workspace).execute()
}

export type QuoteId = BizId<'quote'>

export interface Quote {
  id: QuoteId
  workspace: WorkspaceId
  sourceWallet: WalletId
  targetWallet: WalletId
  /** Amounts are strings of minor units. */
  figures: Record<string, string>
  createdBy: AccountId
  createdAt: Instant
  expiresAt: Instant
}

export async function insertQuote(database: Database, quote: Quote): Promise<void> {
  await database
    .insertInto('exchange_quotes')
    .values({
      workspaceBizId: quote.workspace,
      bizId: quote.id,
      sourceWalletBizId: quote.sourceWallet,
      targetWalletBizId: quote.targetWallet,
      figures: JSON.stringify(quote.figures),
      createdBy: quote.createdBy,
      createdAt: toDate(quote.createdAt),
      expiresAt: toDate(quote.expiresAt),
    })
    .execute()
}

export function readQuote(database: Database, { id, workspace }: { id: QuoteId; workspace: WorkspaceId }) {
  return database
    .selectFrom('exchange_quotes')
    .where('workspaceBizId', '=', workspace)
    .where('bizId', '=', id)
    .select(['sourceWalletBizId as sourceWallet', 'targetWalletBizId as targetWallet', 'figures'])
    .select(['createdAt', 'expiresAt', 'orderBizId as order'])
    .executeTakeFirst()
}
