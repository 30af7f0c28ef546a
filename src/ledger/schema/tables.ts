import type { ColumnType, Generated } from 'kysely'
import type { Json, Minor, NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { AccountId, OrderId, WalletId, WorkspaceId, WorkspaceKind } from '../../kernel/index.ts'
import type { FlowType, HouseAccount, OrderType, WalletStatus } from '../contract.ts'

interface LedgerAccountsTable {
  biz_id: WalletId
  /** Null for house accounts. */
  workspace_biz_id: WorkspaceId | null
  kind: 'WALLET' | HouseAccount
  currency: string
  status: Generated<WalletStatus>
  balance: Generated<bigint>
  held: Generated<bigint>
  sequence: Generated<number>
  /** Counts entries, created holds and ended holds. */
  version: Generated<number>
  last_entry_at: NullableTimestamp
  created_at: Timestamp
  updated_at: Timestamp
}

interface WalletsTable {
  biz_id: WalletId
  workspace_biz_id: WorkspaceId
  wallet_name: string
  currency: string
  is_default: boolean
  created_at: Timestamp
  updated_at: Timestamp
}

interface LedgerEntriesTable {
  account_biz_id: WalletId
  sequence: Generated<number>
  biz_id: string
  workspace_biz_id: Generated<WorkspaceId | null>
  transaction_biz_id: string
  order_biz_id: OrderId | null
  currency: string
  amount: Minor
  balance_after: Generated<bigint>
  /** Can be a type of a domain that was removed since. */
  flow_type: FlowType
  created_at: Timestamp
}

interface LedgerHoldsTable {
  workspace_biz_id: WorkspaceId
  biz_id: string
  account_biz_id: WalletId
  order_biz_id: OrderId
  amount: Minor
  status: 'HELD' | 'RELEASED' | 'CAPTURED'
  created_at: Timestamp
  ended_at: NullableTimestamp
}

interface OrdersTable {
  workspace_biz_id: WorkspaceId
  biz_id: OrderId
  /** The receiving workspace of a transfer to another workspace. */
  counterparty_workspace_biz_id: WorkspaceId | null
  /** Can be a type of a domain that was removed since. */
  order_type: OrderType
  order_no: string
  status: string
  version: Generated<number>
  source_wallet_biz_id: WalletId | null
  target_wallet_biz_id: WalletId | null
  created_by: AccountId | null
  data: Json
  /** An array of `{status, at, actorBizId, reason}`. The last element has the current status. */
  history: Json
  created_at: Timestamp
  updated_at: Timestamp
  /** A copy, which a trigger sets. */
  workspace_kind: Generated<WorkspaceKind>
}

interface IdempotencyTable {
  account_biz_id: AccountId
  /** The all-zero UUID if the command has no workspace. */
  workspace_biz_id: string
  operation: string
  request_id: string
  body_hash: string
  result: Json
  created_at: Timestamp
}

interface LedgerTypesTable {
  kind: 'ORDER' | 'FLOW' | 'HOUSE_ACCOUNT'
  name: string
  owner: string
  /** Maps each status of an order type to whether it is final. */
  statuses: Json
  /** Changes that leave a final status, such as `COMPLETED RETURNED`. */
  corrections: ColumnType<unknown, string | undefined, string>
}

interface LedgerCheckTable {
  one: Generated<true>
  checked_at: Timestamp
  /** Start of the last check, if it found the ledger consistent. */
  verified_at: NullableTimestamp
  /** Start of the last check of the whole ledger, if it was consistent since. */
  whole_verified_at: NullableTimestamp
  /** Null if the ledger is consistent. */
  rule: string | null
  subject: string | null
  violations: number
}

declare module '../../database/tables.ts' {
  interface Tables {
    ledger_accounts: LedgerAccountsTable
    wallets: WalletsTable
    ledger_entries: LedgerEntriesTable
    ledger_holds: LedgerHoldsTable
    orders: OrdersTable
    idempotency: IdempotencyTable
    ledger_types: LedgerTypesTable
    ledger_check: LedgerCheckTable
  }
}
