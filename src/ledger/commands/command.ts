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
  insufficientFunds: Code
}

export type Party = WalletParty | HouseParty

/** A journal entry in signed minor units. The entries of a command sum to zero per currency. */
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

/** One change of an order's status. */
export interface Step {
  status: string
  reason?: string
}

/** At least one step. The last one is the order's new status. */
export type Steps = readonly [Step, ...Step[]]

/** Amounts are strings of minor units: JSON numbers are not exact. */
export type OrderData = Readonly<Record<string, string | null>>

/** An order to create. */
export interface NewOrder {
  workspace: WorkspaceId
  type: OrderType
  data: OrderData
  steps: Steps
}

/** A change of an order's status. */
export interface OrderMove {
  id: OrderId
  type: OrderType
  /** Null for an operator, who can move orders of all workspaces. */
  workspace: WorkspaceId | null
  /** The statuses that the move can start from. Any other one is STATE.CONFLICT. */
  expected: readonly string[]
  steps: Steps
  /** Merged into the order's data. */
  data?: OrderData
  /** Ends all holds of the order. STATE.CONFLICT if it has none. */
  endHolds?: 'RELEASED' | 'CAPTURED'
  /** Rejects an actor who is the same person as the order's creator. */
  notByCreator?: boolean
}

/** Identifies a request. Its first execution stores the result for later ones. */
export interface IdempotencyKey {
  account: AccountId
  workspace: WorkspaceId | null
  operation: string
  requestId: string
  bodyHash: string
}

/** The command's entry in the audit log, written in its transaction. */
export interface CommandAudit {
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
  audit?: CommandAudit
}

/** Creates or moves an order. */
export type OrderCommand = PostingCommand & ({ create: NewOrder } | { move: OrderMove })

/** The caller, workspace and request of a command. An operator acts for no workspace. */
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
      // The actor is the account that created the API key.
      ...(caller.apiKeyId !== null && { detail: { apiKey: caller.apiKeyId } }),
    },
  }
}

/** The context of a member's command in the request's workspace. */
export const memberContext = (request: CommandRequest & { workspace: WorkspaceAccess }): CommandContext<WorkspaceId> =>
  toContext(request, request.workspace.id)

/** The context of an operator's command. */
export const operatorContext = (request: CommandRequest): CommandContext<null> => toContext(request, null)

/** The fields of a command that come from its context. */
export const commandOrigin = ({ actor, key, audit }: CommandContext) => ({ actor, idempotency: key, audit })

/** The fields that all operator decisions share: orders of all workspaces, except the operator's own ones. */
export const operatorDecision = <T extends OrderType>(type: T, id: OrderId) =>
  ({ type, id, workspace: null, notByCreator: true }) as const

/** The house's fee account; none without a fee. */
export const feeParties = ({ minor, currency }: Money): Party[] =>
  minor > 0n ? [{ label: 'fee', house: 'FEE', currency, insufficientFunds: 'SYSTEM.INTERNAL_ERROR' }] : []

/** The entries that post a fee from the payer's account to the house; none without a fee. */
export const feeEntries = (payer: string, { minor }: Money): Entry[] =>
  minor > 0n
    ? [
        { account: payer, amount: -minor, flowType: 'FEE' },
        { account: 'fee', amount: minor, flowType: 'FEE' },
      ]
    : []

/** The house's side of a payment in or out: the clearing account, and the fee account if there is a fee. */
export const chargeParties = ({ amount: { currency }, fee }: { amount: Money; fee: Money }): Party[] => [
  { label: 'clearing', house: 'CLEARING', currency, insufficientFunds: 'SYSTEM.INTERNAL_ERROR' },
  ...feeParties(fee),
]
