import type { ColumnType, Generated } from 'kysely'
import type { Json, Minor, NullableTimestamp, Timestamp } from '../../database/index.ts'
import type { AccountId, OrderId, WalletId, WorkspaceId, WorkspaceKind } from '../../kernel/index.ts'
import type { FlowType, HouseAccount, OrderType, WalletStatus } from '../contract.ts'

interface LedgerAccountsTable {
  bizId: WalletId
  /** Null for house accounts. */
  workspaceBizId: WorkspaceId | null
  kind: 'WALLET' | HouseAccount
  currency: string
  status: Generated<WalletStatus>
  balance: Generated<bigint>
  held: Generated<bigint>
  sequence: Generated<number>
  /** Counts entries, created holds and ended holds. */
  version: Generated<number>
  lastEntryAt: NullableTimestamp
  createdAt: Timestamp
  updatedAt: Timestamp
}

interface WalletsTable {
  bizId: WalletId
  workspaceBizId: WorkspaceId
  walletName: string
  currency: string
  isDefault: boolean
  createdAt: Timestamp
  updatedAt: Timestamp
}

interface LedgerEntriesTable {
  accountBizId: WalletId
  sequence: Generated<number>
  bizId: string
  workspaceBizId: Generated<WorkspaceId | null>
  transactionBizId: string
  orderBizId: OrderId | null
  currency: string
  amount: Minor
  balanceAfter: Generated<bigint>
  /** Can be a type of a domain that was removed since. */
  flowType: FlowType
  createdAt: Timestamp
}

interface LedgerHoldsTable {
  workspaceBizId: WorkspaceId
  bizId: string
  accountBizId: WalletId
  orderBizId: OrderId
  amount: Minor
  status: 'HELD' | 'RELEASED' | 'CAPTURED'
  createdAt: Timestamp
  endedAt: NullableTimestamp
}

interface OrdersTable {
  workspaceBizId: WorkspaceId
  bizId: OrderId
  /** The receiving workspace of a transfer to another workspace. */
  counterpartyWorkspaceBizId: WorkspaceId | null
  /** Can be a type of a domain that was removed since. */
  orderType: OrderType
  orderNo: string
  status: string
  version: Generated<number>
  sourceWalletBizId: WalletId | null
  targetWalletBizId: WalletId | null
  createdBy: AccountId | null
  data: Json
  /** An array of `{status, at, actorBizId, reason}`. The last element has the current status. */
  history: Json
  createdAt: Timestamp
  updatedAt: Timestamp
  /** A copy, which a trigger sets. */
  workspaceKind: Generated<WorkspaceKind>
}

interface IdempotencyTable {
  accountBizId: AccountId
  /** The all-zero UUID if the command has no workspace. */
  workspaceBizId: string
  operation: string
  requestId: string
  bodyHash: string
  result: Json
  createdAt: Timestamp
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
  checkedAt: Timestamp
  /** Start of the last check, if it found the ledger consistent. */
  verifiedAt: NullableTimestamp
  /** Start of the last check of the whole ledger, if it was consistent since. */
  wholeVerifiedAt: NullableTimestamp
  /** Null if the ledger is consistent. */
  rule: string | null
  subject: string | null
  violations: number
}

/** The state of each account after its last archived entry. */
interface LedgerArchivedBalancesTable {
  accountBizId: WalletId
  currency: string
  sequence: number
  balance: Minor
  lastEntryAt: Timestamp
  /** Sum of the archived OPENING entries. */
  opening: Minor
}

/** Earlier entries are archived. */
interface LedgerArchiveTable {
  isOnly: Generated<boolean>
  until: Timestamp
}

declare module '../../database/tables.ts' {
  interface Tables {
    ledger_archive: LedgerArchiveTable
    ledger_archived_balances: LedgerArchivedBalancesTable
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
