import type { AccountId, Code, OrderId, Portal, WalletId, WorkspaceId } from '../kernel/index.ts'
import type { FlowType } from './contract.ts'
import type { OrderType } from './schema/tables.ts'

/** A wallet that a command names. It must be there, in this currency, and of this workspace unless that is null. */
export interface WalletParty {
  /** What entries and holds call it; `source` and `target` also become the order's wallets. */
  label: string
  wallet: WalletId
  workspace: WorkspaceId | null
  currency: string
  /** Whether a frozen or closed wallet is refused. */
  active: boolean
  /** The input to name when the currency is another one. */
  currencyField: string
}

/** An account of the house. */
export interface HouseParty {
  label: string
  house: 'LIQUIDITY' | 'FEE' | 'CLEARING'
  currency: string
  /** What to refuse with when the house has not got enough. */
  short: Code
}

export type Party = WalletParty | HouseParty

/** Signed minor units; the entries of a command add up to nothing per currency. */
export interface Entry {
  account: string
  amount: bigint
  flowType: FlowType
}

/** Minor units to set aside, more than none. */
export interface Hold {
  account: string
  amount: bigint
}

export interface Step {
  status: string
  reason?: string
}

/** At least one step; the last one is where the order stands afterwards. */
export type Steps = readonly [Step, ...Step[]]

/** Amounts in `data` are minor units as text, for JSON has no exact numbers. */
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
  /** Null lets an operator reach any workspace's order. */
  workspace: WorkspaceId | null
  /** The statuses that it may leave; another one is STATE.CONFLICT. */
  expected: readonly string[]
  steps: Steps
  /** Merged over the order's data. */
  data?: OrderData
  /** Ends every hold of the order; without one, the move is STATE.CONFLICT. */
  endHolds?: 'RELEASED' | 'CAPTURED'
  /** Nobody decides over what they made themselves, by whichever account of theirs. */
  notByCreator?: boolean
}

export interface IdempotencyKey {
  account: AccountId
  workspace: WorkspaceId | null
  operation: string
  requestId: string
  bodyHash: string
}

/** What the audit log is told of the command, in its own transaction. */
export interface AuditFacts {
  portal: Portal
  action: string
  requestId: string
  clientIp: string
  detail?: Readonly<Record<string, string>>
}

/** Postings without an order, such as a wallet's opening funds. */
export interface PostingCommand {
  /** Null: the system itself. */
  actor: AccountId | null
  idempotency?: IdempotencyKey
  parties: readonly Party[]
  entries?: readonly Entry[]
  holds?: readonly Hold[]
  audit?: AuditFacts
}

export type OrderCommand = PostingCommand & ({ create: NewOrder } | { move: OrderMove })
