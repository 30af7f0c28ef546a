import type { AccountId, Code, OrderId, Portal, WalletId, WorkspaceId } from '../../kernel/index.ts'
import type { FlowType } from '../contract.ts'
import type { OrderType } from '../schema/tables.ts'

/** A wallet in a command. It must exist, have this currency, and belong to the workspace unless that is null. */
export interface WalletParty {
  /** Its name in entries and holds. `source` and `target` also become the order's wallets. */
  label: string
  wallet: WalletId
  workspace: WorkspaceId | null
  currency: string
  /** Whether to reject a frozen or closed wallet. */
  active: boolean
  /** The request field to report if the wallet has another currency. */
  currencyField: string
}

/** An account of the house. */
export interface HouseParty {
  label: string
  house: 'LIQUIDITY' | 'FEE' | 'CLEARING'
  currency: string
  /** The refusal code if the account has insufficient funds. */
  short: Code
}

export type Party = WalletParty | HouseParty

/** A posting in signed minor units. The entries of a command sum to zero per currency. */
export interface Entry {
  account: string
  amount: bigint
  flowType: FlowType
}

/** Reserved funds in minor units, above zero. */
export interface Hold {
  account: string
  amount: bigint
}

export interface Step {
  status: string
  reason?: string
}

/** At least one step. The last one is the order's new status. */
export type Steps = readonly [Step, ...Step[]]

/** Amounts are strings of minor units: JSON numbers are not exact. */
export type OrderData = Readonly<Record<string, string | null>>

export interface NewOrder {
  workspace: WorkspaceId
  type: OrderType
  data: OrderData
  steps: Steps
}

export interface OrderMove {
  id: OrderId
  type: OrderType
  /** Null for an operator, who reaches orders of every workspace. */
  workspace: WorkspaceId | null
  /** The statuses that the move may start from. Any other one is STATE.CONFLICT. */
  expected: readonly string[]
  steps: Steps
  /** Merged into the order's data. */
  data?: OrderData
  /** Ends all holds of the order. STATE.CONFLICT if it has none. */
  endHolds?: 'RELEASED' | 'CAPTURED'
  /** Rejects an actor who is the same person as the order's creator. */
  notByCreator?: boolean
}

export interface IdempotencyKey {
  account: AccountId
  workspace: WorkspaceId | null
  operation: string
  requestId: string
  bodyHash: string
}

/** The command's entry in the audit log, written in its transaction. */
export interface AuditFacts {
  portal: Portal
  action: string
  requestId: string
  clientIp: string
  detail?: Readonly<Record<string, string>>
}

/** Postings without an order, such as a wallet's opening funds. */
export interface PostingCommand {
  /** Null for the system itself. */
  actor: AccountId | null
  idempotency?: IdempotencyKey
  parties: readonly Party[]
  entries?: readonly Entry[]
  holds?: readonly Hold[]
  audit?: AuditFacts
}

export type OrderCommand = PostingCommand & ({ create: NewOrder } | { move: OrderMove })
