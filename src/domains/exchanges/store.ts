import type { Database } from '../../database/index.ts'
import {
  type AccountId,
  type BizId,
  type Instant,
  toDate,
  type WalletId,
  type WorkspaceId,
} from '../../kernel/index.ts'

export type QuoteId = BizId<'quote'>

export interface Quote {
  id: QuoteId
  workspace: WorkspaceId
  sourceWallet: WalletId
  targetWallet: WalletId
  /** What becomes the order's data; amounts are minor units as text. */
  figures: Record<string, string>
  createdBy: AccountId
  createdAt: Instant
  expiresAt: Instant
}

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

/** Undefined for an unknown quote and another workspace's alike. Whether it is still good is the database's to say. */
export const readQuote = (database: Database, { id, workspace }: { id: QuoteId; workspace: WorkspaceId }) =>
  database
    .selectFrom('exchange_quotes')
    .where('workspace_biz_id', '=', workspace)
    .where('biz_id', '=', id)
    .select(['source_wallet_biz_id as sourceWallet', 'target_wallet_biz_id as targetWallet', 'figures'])
    .select(['created_at as createdAt', 'expires_at as expiresAt', 'order_biz_id as order'])
    .executeTakeFirst()

export interface SetRate {
  source: string
  target: string
  /** Units of target for one of source, a decimal string. */
  rate: string
  updatedBy: AccountId
  updatedAt: Instant
}

const pairOf = (a: string, b: string): string => [a, b].sort().join('/')

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

/** The rate that operators have set for a pair, whichever way round. */
export const readSetRate = (database: Database, a: string, b: string): Promise<SetRate | undefined> =>
  selectRates(database).where('pair', '=', pairOf(a, b)).executeTakeFirst()

export const listSetRates = (database: Database): Promise<SetRate[]> => selectRates(database).orderBy('pair').execute()
