import type {
  AccountId,
  Caller,
  Code,
  Idempotency,
  Instant,
  Money,
  OrderId,
  Portal,
  RequestContext,
  WalletId,
  WorkspaceAccess,
  WorkspaceId,
} from '../../kernel/index.ts'
import type { FlowType, HouseAccount, OrderType } from '../contract.ts'

/** A wallet in a command. It must exist, have this currency, and belong to the workspace unless that is null. */
export interface WalletParty {
  /** Name by which entries and holds refer to the wallet. The order stores the wallets named source and target. */
  label: string
  wallet: WalletId
  workspace: WorkspaceId | null
  currency: string
  /** Whether to reject the command if the wallet is frozen or closed. */
  active: boolean
  /** Request field that the refusal names if the currency differs. */
  currencyField: string
}

/** A house account in a command. */
export interface HouseParty {
  label: string
  house: HouseAccount
  currency: string
  /** Refusal code if the account has insufficient funds. */
  insufficientFunds: Code
}

export type Party = WalletParty | HouseParty

/**
 * A journal entry in minor units: positive for a credit, negative for a debit. `account` is the label of a party. The
 * entries of a command must sum to zero in each currency.
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

/**
 * A rolling sum of 24 hours to which an order adds its amount. Cancelled, rejected, failed and expired orders do not
 * count. Sandboxes and live workspaces have separate sums.
 */
export interface Usage {
  /** `PERSON` adds up all accounts of the actor. */
  of: 'WORKSPACE' | 'PERSON' | 'EXTERNAL_ACCOUNT'
  /** A digest that is equal in all workspaces. */
  subject?: string
  /** Orders that count towards the total, such as `WITHDRAWAL BANK`. */
  usageOf: string
  amount: Money
  /** Maximum in minor units, including the amount. With null, the amount only counts. */
  max: bigint | null
  /** Refusal code if the sum would exceed the maximum. With null, `execute` throws UsageExceeded. */
  exceeded: Code | null
  /** Whether the amount counts only if the target wallet belongs to another workspace. */
  leaving?: boolean
  /** Minor units that each amount in another currency counts as. Without it, such amounts do not count. */
  otherCurrencies?: bigint
}

/** Value that leaves a workspace. It counts towards `money.stepUpAbove`. */
export interface Outgoing {
  amount: Money
  /** Whether the amount counts only if the target wallet belongs to another workspace. */
  leaving?: true
  /** The context of the member's command. */
  by: Pick<CommandContext, 'caller' | 'receivedAt'>
}

/** A sum without a refusal code would exceed its maximum. Nothing is written. */
export class UsageExceeded extends Error {}

export interface Step {
  status: string
  reason?: string
}

/** The last step has the new status. */
export type Steps = readonly [Step, ...Step[]]

/** Fields of an order's domain. Amounts are strings of minor units, because JSON numbers are not exact. */
export type OrderData = Readonly<Record<string, string | null>>

/** An order to create. */
export interface NewOrder {
  workspace: WorkspaceId
  type: OrderType
  data: OrderData
  steps: Steps
  /** The first exceeded sum refuses the command. */
  usage?: readonly Usage[]
  /** Required if the order type is declared as `outgoing`. */
  outgoing?: Outgoing
}

/** Changes the status of an order. */
export interface OrderMove {
  id: OrderId
  type: OrderType
  /**
   * Null for an operator. The operator's person must not have created the order, acted on it before (see
   * `SeparationOfDuties`), or belong to one of its workspaces.
   */
  workspace: WorkspaceId | null
  /** Any other status fails with STATE.CONFLICT. */
  expected: readonly string[]
  steps: Steps
  /** Fields to merge into the order's data. */
  data?: OrderData
  /** Ends all holds of the order. Fails with STATE.CONFLICT if there are none. */
  endHolds?: 'RELEASED' | 'CAPTURED'
  /** Ends the amounts that the order added to rolling sums. */
  returnsUsage?: true
  /** Amounts that count for the workspace and the creator of the order. The first exceeded sum refuses the command. */
  usage?: readonly Usage[]
  /** Further accounts that count as earlier actors, such as the operator who verified the payout account. */
  priorActors?: readonly AccountId[]
  /** Fails with STATE.CONFLICT if a workspace of the order is frozen, or its creator is suspended. */
  whileActive?: true
}

/** A retry with the same key returns the stored result. */
export interface IdempotencyKey {
  account: AccountId
  workspace: WorkspaceId | null
  operation: string
  /** The value of Idempotency-Key, or else X-Request-Id. */
  requestId: string
  bodyHash: string
}

/** The audit log entry of a command, written in the same transaction. */
export interface CommandAudit {
  portal: Portal
  action: string
  requestId: string
  clientIp: string
  detail?: Readonly<Record<string, string>>
}

/** Posts entries without an order, such as the opening funds of a wallet. */
export interface PostingCommand {
  /** Null if the system issued the command. */
  actor: AccountId | null
  idempotency?: IdempotencyKey
  parties: readonly Party[]
  entries?: readonly Entry[]
  holds?: readonly Hold[]
  audit?: CommandAudit
}

/** Creates an order or changes its status. */
export type OrderCommand = PostingCommand & ({ create: NewOrder } | { move: OrderMove })

/** The actor, workspace and request of a command. `workspace` is null if the actor is an operator. */
export interface CommandContext<W extends WorkspaceId | null = WorkspaceId | null> {
  actor: AccountId
  workspace: W
  key: IdempotencyKey
  audit: CommandAudit
  caller: Pick<Caller, 'steppedUpAt' | 'apiKeyId'>
  receivedAt: Instant
}

type CommandRequest = RequestContext & { caller: Caller; idempotency: Idempotency }

/** Returns the context of a member's command, in the workspace of the request. */
export function memberContext(request: CommandRequest & { workspace: WorkspaceAccess }): CommandContext<WorkspaceId> {
  return toContext(request, request.workspace.id)
}

/** Returns the context of an operator's command. */
export function operatorContext(request: CommandRequest): CommandContext<null> {
  return toContext(request, null)
}

/** Returns the key of a request, in the workspace of its command. */
export function idempotencyKeyOf(
  { operationId, caller, idempotency }: Pick<CommandRequest, 'operationId' | 'caller' | 'idempotency'>,
  workspace: WorkspaceId | null,
): IdempotencyKey {
  const { key: requestId, bodyHash } = idempotency
  return { account: caller.accountId, workspace, operation: operationId, requestId, bodyHash }
}

/** The fields of a command that come from its request: actor, idempotency key and audit entry. */
export function commandOrigin({ actor, key, audit }: CommandContext) {
  return { actor, idempotency: key, audit }
}

/**
 * The fields of `OrderMove` that all operator decisions share. An operator can decide on orders of all workspaces,
 * except where the same person has acted or is a member.
 */
export function operatorDecision<T extends OrderType>(type: T, id: OrderId) {
  return { type, id, workspace: null } as const
}

/**
 * The fields of `operatorDecision` for a decision that pays out or credits funds. It fails with STATE.CONFLICT if a
 * workspace of the order is frozen, or its creator is suspended.
 */
export function operatorApproval<T extends OrderType>(type: T, id: OrderId) {
  return { ...operatorDecision(type, id), whileActive: true } as const
}

/** Returns the house's fee account as a party. Empty if the fee is zero. */
export function feeParties({ minor, currency }: Money): Party[] {
  return minor > 0n ? [{ label: 'fee', house: 'FEE', currency, insufficientFunds: 'SYSTEM.INTERNAL_ERROR' }] : []
}

/** Returns the entries that post a fee from the payer to the house. Empty if the fee is zero. */
export function feeEntries(payer: string, { minor }: Money): Entry[] {
  return minor > 0n
    ? [
        { account: payer, amount: -minor, flowType: 'FEE' },
        { account: 'fee', amount: minor, flowType: 'FEE' },
      ]
    : []
}

/** Returns the house accounts of an order that enters or leaves Portico: `clearing`, and `fee` if there is a fee. */
export function chargeParties({ amount: { currency }, fee }: { amount: Money; fee: Money }): Party[] {
  return [
    { label: 'clearing', house: 'CLEARING', currency, insufficientFunds: 'SYSTEM.INTERNAL_ERROR' },
    ...feeParties(fee),
  ]
}

function toContext<W extends WorkspaceId | null>(request: CommandRequest, workspace: W): CommandContext<W> {
  const { operationId, portal, requestId, receivedAt, clientIp, caller, idempotency } = request
  const actor = caller.accountId
  return {
    actor,
    workspace,
    caller,
    receivedAt,
    key: idempotencyKeyOf(request, workspace),
    audit: {
      portal,
      action: operationId,
      requestId,
      clientIp,
      detail: {
        // The actor is the account that created the API key. Record the key, too.
        ...(caller.apiKeyId !== null && { apiKey: caller.apiKeyId }),
        ...(idempotency.key !== requestId && { idempotencyKey: idempotency.key }),
      },
    },
  }
}
