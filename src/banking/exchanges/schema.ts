import { type Json, sqlMigration, type Timestamp } from '../../database/index.ts'

import type { AccountId, BizId, OrderId, WalletId, WorkspaceId } from '../../kernel/index.ts'

interface ExchangeRatesTable {
  /** In alphabetical order, because a pair has one rate for both directions. */
  pair: string
  sourceCurrency: string
  targetCurrency: string
  rate: string
  updatedBy: AccountId
  confirmedBy: AccountId | null
  updatedAt: Timestamp
  expiresAt: Timestamp
}

interface ExchangeRateProposalsTable {
  pair: string
  sourceCurrency: string
  targetCurrency: string
  rate: string
  proposedBy: AccountId
  proposedAt: Timestamp
  expiresAt: Timestamp
}

interface ExchangeQuotesTable {
  workspaceBizId: WorkspaceId
  bizId: BizId<'quote'>
  sourceWalletBizId: WalletId
  targetWalletBizId: WalletId
  figures: Json
  createdBy: AccountId
  createdAt: Timestamp
  expiresAt: Timestamp
  /** A trigger sets this column. */
  orderBizId: OrderId | null
}

declare module '../../database/tables.ts' {
  interface Tables {
    exchange_rates: ExchangeRatesTable
    exchange_rate_proposals: ExchangeRateProposalsTable
    exchange_quotes: ExchangeQuotesTable
  }
}

const pairColumns = `
    pair text PRIMARY KEY,
    source_currency text NOT NULL,
    target_currency text NOT NULL CHECK (target_currency <> source_currency),
    rate text NOT NULL CHECK (rate ~ '^[0-9]+([.][0-9]+)?$' AND rate ~ '[1-9]'),`

const rates = [
  `CREATE TABLE exchange_rates (${pairColumns}
    updated_by uuid NOT NULL,
    confirmed_by uuid CHECK (confirmed_by <> updated_by),
    updated_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
  )`,
  `CREATE TABLE exchange_rate_proposals (${pairColumns}
    proposed_by uuid NOT NULL,
    proposed_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
  )`,
]

/**
 * A trigger marks the quote of a new order as used. The order fails with SQLSTATE PQ001 if the workspace has no open
 * quote with the same wallets and figures. The time of an order is never earlier than the last entry of its accounts,
 * which a replica with a fast clock can have written. The trigger therefore compares the expiry with the earlier of the
 * order's time and the database's time.
 */
const quotes = [
  `CREATE TABLE exchange_quotes (
    workspace_biz_id uuid NOT NULL REFERENCES workspaces,
    biz_id uuid NOT NULL,
    source_wallet_biz_id uuid NOT NULL,
    target_wallet_biz_id uuid NOT NULL,
    figures jsonb NOT NULL,
    created_by uuid NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    order_biz_id uuid,
    PRIMARY KEY (workspace_biz_id, biz_id)
  )`,
  `CREATE INDEX exchange_quotes_unused ON exchange_quotes (expires_at) WHERE order_biz_id IS NULL`,
  `CREATE FUNCTION exchange_quotes_use() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE exchange_quotes SET order_biz_id = NEW.biz_id
     WHERE workspace_biz_id = NEW.workspace_biz_id AND biz_id = (NEW.data->>'quoteBizId')::uuid
       AND source_wallet_biz_id = NEW.source_wallet_biz_id AND target_wallet_biz_id = NEW.target_wallet_biz_id
       AND order_biz_id IS NULL AND expires_at > least(NEW.created_at, clock_timestamp()) AND NEW.data @> figures;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'order % has no open quote', NEW.biz_id USING ERRCODE = 'PQ001';
    END IF;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER exchange_quotes_use AFTER INSERT ON orders
    FOR EACH ROW WHEN (NEW.order_type = 'EXCHANGE') EXECUTE FUNCTION exchange_quotes_use()`,
]

export const migrations = [sqlMigration('001-baseline', [...rates, ...quotes])]
