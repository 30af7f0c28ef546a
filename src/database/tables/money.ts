import type { WithdrawalChannelStatus } from '../../domains/withdrawal-channels/contract.ts'
import type { AccountId, BizId, OrderId, WalletId, WorkspaceId } from '../../kernel/index.ts'
import type { Json, Timestamp } from './columns.ts'

export interface ExchangeRatesTable {
  /** Both currencies in the order of the alphabet: a pair has one rate, whichever way it was set. */
  pair: string
  source_currency: string
  target_currency: string
  /** A decimal string. */
  rate: string
  updated_by: AccountId
  updated_at: Timestamp
}

export interface ExchangeQuotesTable {
  workspace_biz_id: WorkspaceId
  biz_id: BizId<'quote'>
  source_wallet_biz_id: WalletId
  target_wallet_biz_id: WalletId
  /** What becomes the order's data; amounts are minor units as text. */
  figures: Json
  created_by: AccountId
  created_at: Timestamp
  expires_at: Timestamp
  /** The order that spent it; set by the database alone. */
  order_biz_id: OrderId | null
}

export interface WithdrawalChannelsTable {
  workspace_biz_id: WorkspaceId
  biz_id: BizId<'withdrawalChannel'>
  channel_type: 'BANK' | 'CRYPTO'
  currency: string
  country: string
  account_holder_name: string
  masked_account: string
  /** SecretBox, purpose `withdrawal-account`, context the biz_id. */
  account_sealed: Uint8Array
  account_digest: Uint8Array
  bank_code: string | null
  network: string | null
  channel_status: WithdrawalChannelStatus
  reject_reason: string | null
  created_by: AccountId
  created_at: Timestamp
  updated_at: Timestamp
}

export interface MoneyTables {
  exchange_rates: ExchangeRatesTable
  exchange_quotes: ExchangeQuotesTable
  withdrawal_channels: WithdrawalChannelsTable
}
