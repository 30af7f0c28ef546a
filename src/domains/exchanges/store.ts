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
export const deleteUnusedQuotes = async (database: Database, until: Instant, limit: number): Promise<number> => {
  const { numAffectedRows = 0n } = await sql`
    DELETE FROM exchange_quotes WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM exchange_quotes WHERE order_biz_id IS NULL AND expires_at <= ${toDate(until)}::timestamptz
       ORDER BY expires_at LIMIT ${limit}))`.execute(database)
  return Number(numAffectedRows)
}

/** Deletes a sandbox's quotes. */
export const deleteQuotes = async (tx: Tx, workspace: WorkspaceId): Promise<void> => {
  await tx.deleteFrom('exchange_quotes').where('workspace_biz_id', '=', workspace).execute()
}

export type QuoteId = BizId<'quote'>

/** A stored quote. */
export interface Quote {
  id: QuoteId
  workspace: WorkspaceId
  sourceWallet: WalletId
  targetWallet: WalletId
  /** The data of a later order. Amounts are strings of minor units. */
  figures: Record<string, string>
  createdBy: AccountId
  createdAt: Instant
  expiresAt: Instant
}

/** Stores a new quote. */
export const insertQuote = async (database: Database, quote: Quote): Promise<void> => {
  await database
    .insertInto('exchange_quotes')
    .values({
      workspace_biz_id: quote.workspace,
      biz_id: quote.id,
      source_wallet_biz_id: quote.sourceWallet,
      target_wallet_biz_id: quote.targetWallet,
      figures: JSON.stringify(quote.figures),
      created_by: quote.createdBy,
      created_at: toDate(quote.createdAt),
      expires_at: toDate(quote.expiresAt),
    })
    .execute()
}

/** Returns the quote, or undefined if it does not exist in the workspace. */
export const readQuote = (database: Database, { id, workspace }: { id: QuoteId; workspace: WorkspaceId }) =>
  database
    .selectFrom('exchange_quotes')
    .where('workspace_biz_id', '=', workspace)
    .where('biz_id', '=', id)
    .select(['source_wallet_biz_id as sourceWallet', 'target_wallet_biz_id as targetWallet', 'figures'])
    .select(['created_at as createdAt', 'expires_at as expiresAt', 'order_biz_id as order'])
    .executeTakeFirst()

/** A rate that an operator has set. */
export interface SetRate {
  source: string
  target: string
  /** Units of target per unit of source, a decimal string. */
  rate: string
  updatedBy: AccountId
  updatedAt: Instant
}

const pairOf = (a: string, b: string): string => [a, b].sort().join('/')

/** Stores the rate of a pair and replaces an earlier one. */
export const saveRate = async (database: Database, set: SetRate): Promise<void> => {
  const row = {
    source_currency: set.source,
    target_currency: set.target,
    rate: set.rate,
    updated_by: set.updatedBy,
    updated_at: toDate(set.updatedAt),
  }
  await database
    .insertInto('exchange_rates')
    .values({ pair: pairOf(set.source, set.target), ...row })
    .onConflict((conflict) => conflict.column('pair').doUpdateSet(row))
    .execute()
}

const selectRates = (database: Database) =>
  database
    .selectFrom('exchange_rates')
    .select([
      'source_currency as source',
      'target_currency as target',
      'rate',
      'updated_by as updatedBy',
      'updated_at as updatedAt',
    ])

/** Returns the rate that an operator has set for a pair, in either direction. */
export const readSetRate = (database: Database, a: string, b: string): Promise<SetRate | undefined> =>
  selectRates(database).where('pair', '=', pairOf(a, b)).executeTakeFirst()

/** Returns all rates that operators have set. */
export const listSetRates = (database: Database): Promise<SetRate[]> => selectRates(database).orderBy('pair').execute()
