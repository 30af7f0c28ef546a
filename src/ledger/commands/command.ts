import type {
  AccountId,
  Caller,
  Code,
  Idempotency,
  Money,
  OrderId,
  Portal,
  RequestContext,
  WalletId,
  WorkspaceAccess,
  WorkspaceId,
} from '../../kernel/index.ts'
import type { FlowType } from '../contract.ts'
import type { OrderType } from '../schema/tables.ts'

/**
 * A wallet that takes part in a command. The wallet must exist and have the specified currency. The wallet must belong
 * to `workspace`, unless `workspace` is null.
 */
export interface WalletParty {
  /**
   * Name that entries and holds use for this wallet. The wallets named `source` and `target` are also stored in the
   * order.
   */
  label: string
  wallet: WalletId
  workspace: WorkspaceId | null
  currency: string
  /** Whether to reject the command if the wallet is frozen or closed. */
  active: boolean
  /** Request field that the refusal names if the wallet has another currency. */
  currencyField: string
}

/** A house account that takes part in a command. */
export interface HouseParty {
  label: string
  house: 'LIQUIDITY' | 'FEE' | 'CLEARING'
  currency: string
  /** Refusal code if the account has insufficient funds. */
  insufficientFunds: Code
}

export type Party = WalletParty | HouseParty

/**
 * A journal entry. `amount` is in minor units: positive for a credit, negative for a debit. `account` is the label of a
 * party. The entries of a command must sum to zero in each currency.
 */
export interface Entry {
  account: string
  amount: bigint
  flowType: FlowType
}

/** Funds to reserve in an account. `amount` is in minor units and greater than zero. */
export interface Hold {
  account: string
  amount: bigint
}

/** One change of an order's status. */
export interface Step {
  status: string
  reason?: string
}

/** One or more status changes. The status of the last step becomes the order's status. */
export type Steps = readonly [Step, ...Step[]]

/** Fields of an order's domain. Amounts are strings of minor units, because JSON numbers are not exact. */
export type OrderData = Readonly<Record<string, string | null>>

/** An order to create. */
export interface NewOrder {
  workspace: WorkspaceId
  type: OrderType
  data: OrderData
  steps: Steps
}

/** A command that changes the status of an existing order. */
export interface OrderMove {
  id: OrderId
  type: OrderType
  /** Null for an operator, who can change orders of all workspaces. */
  workspace: WorkspaceId | null
  /** The statuses that the order may have before the change. Any other status fails with STATE.CONFLICT. */
  expected: readonly string[]
  steps: Steps
  /** Fields to merge into the order's data. */
  data?: OrderData
  /** Ends all holds of the order with this status. Fails with STATE.CONFLICT if the order has no open holds. */
  endHolds?: 'RELEASED' | 'CAPTURED'
  /** Whether to reject the command if the actor is the person who created the order. */
  notByCreator?: boolean
}

/**
 * Identifies a request for idempotency. The first execution stores its result, and a retry with the same key returns
 * the stored result.
 */
export interface IdempotencyKey {
  account: AccountId
  workspace: WorkspaceId | null
  operation: string
  requestId: string
  bodyHash: string
}

/** The audit log entry of a command. It is written in the same transaction as the command. */
export interface CommandAudit {
  portal: Portal
  action: string
  requestId: string
  clientIp: string
  detail?: Readonly<Record<string, string>>
}

/** A command that posts entries without an order, such as the opening funds of a wallet. */
export interface PostingCommand {
  /** Null if no account issued the command, but the system. */
  actor: AccountId | null
  idempotency?: IdempotencyKey
  parties: readonly Party[]
  entries?: readonly Entry[]
  holds?: readonly Hold[]
  audit?: CommandAudit
}

/** A command that creates an order or changes its status. */
export type OrderCommand = PostingCommand & ({ create: NewOrder } | { move: OrderMove })

/** The actor, workspace and request of a command. `workspace` is null if the actor is an operator. */
export interface CommandContext<W extends WorkspaceId | null = WorkspaceId | null> {
  actor: AccountId
  workspace: W
  key: IdempotencyKey
  audit: CommandAudit
}

type CommandRequest = RequestContext & { caller: Caller; idempotency: Idempotency }

const toContext = <W extends WorkspaceId | null>(request: CommandRequest, workspace: W): CommandContext<W> => {
  const { operationId, portal, requestId, clientIp, caller, idempotency } = request
  const actor = caller.accountId
  return {
    actor,
    workspace,
    key: { account: actor, workspace, operation: operationId, ...idempotency },
    audit: {
      portal,
      action: operationId,
      requestId,
      clientIp,
      // `actor` is the account that created the API key. Record the key, too.
      ...(caller.apiKeyId !== null && { detail: { apiKey: caller.apiKeyId } }),
    },
  }
}

/** Returns the context of a command from a member, in the workspace of the request. */
export const memberContext = (request: CommandRequest & { workspace: WorkspaceAccess }): CommandContext<WorkspaceId> =>
  toContext(request, request.workspace.id)

/** Returns the context of a command from an operator. */
export const operatorContext = (request: CommandRequest): CommandContext<null> => toContext(request, null)

/** Returns the fields of a command that are taken from its context. */
export const commandOrigin = ({ actor, key, audit }: CommandContext) => ({ actor, idempotency: key, audit })

/**
 * Returns the fields of `OrderMove` that all operator decisions share. An operator can decide on orders of all
 * workspaces, except on orders that the operator created.
 */
export const operatorDecision = <T extends OrderType>(type: T, id: OrderId) =>
  ({ type, id, workspace: null, notByCreator: true }) as const

/** Returns the house's fee account as a party. Returns an empty list if the fee is zero. */
export const feeParties = ({ minor, currency }: Money): Party[] =>
  minor > 0n ? [{ label: 'fee', house: 'FEE', currency, insufficientFunds: 'SYSTEM.INTERNAL_ERROR' }] : []

/**
 * Returns the entries that post a fee from the payer's account to the house. Returns an empty list if the fee is zero.
 */
export const feeEntries = (payer: string, { minor }: Money): Entry[] =>
  minor > 0n
    ? [
        { account: payer, amount: -minor, flowType: 'FEE' },
        { account: 'fee', amount: minor, flowType: 'FEE' },
      ]
    : []

/**
 * Returns the house accounts of a recharge or withdrawal: the clearing account, and the fee account if there is a fee.
 */
export const chargeParties = ({ amount: { currency }, fee }: { amount: Money; fee: Money }): Party[] => [
  { label: 'clearing', house: 'CLEARING', currency, insufficientFunds: 'SYSTEM.INTERNAL_ERROR' },
  ...feeParties(fee),
]
