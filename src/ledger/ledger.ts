import { isLifeCycle, type LifeCycle } from '../contract/ledger/life-cycle.ts'
import type { Database } from '../database/index.ts'
import type { AccountId, Instant, Money, OrderId, Page, WalletId, WorkspaceId } from '../kernel/index.ts'
import { invalid } from '../kernel/index.ts'
import type { IdempotencyKey, OrderCommand } from './commands/command.ts'
import { executeOrder, type LedgerPorts } from './commands/execute-store.ts'
import { assertDifferentPerson, assertOutsider } from './commands/four-eyes-store.ts'
import {
  ensureHouseAccounts,
  type FundedAccount,
  type Funding,
  fundWallet,
  provideFunds,
} from './commands/house-accounts-store.ts'
import { deleteExpiredResults, findStoredResult, replayOnRefusal, storeResult } from './commands/idempotency-store.ts'
import { registerTypes } from './commands/types-store.ts'
import { changeWalletStatus, insertWallet, type NewWallet, type WalletStatusChange } from './commands/wallets-store.ts'
import type { FlowType, OrderType } from './contract.ts'
import {
  type CompletedCheck,
  checkInvariants,
  type Discrepancy,
  type InvariantCheck,
  type LastCheck,
  readLastCheck,
  recordCheck,
  verifyLedger,
} from './integrity-store.ts'
import type { Order } from './order.ts'
import { type Flow, type FlowQuery, listFlows, listPostings, type Posting, readFlows } from './reads/flows-store.ts'
import {
  type ListedOrder,
  listDueOrders,
  listOrders,
  type OrderScope,
  readOrder,
  readOrders,
  readOrderType,
} from './reads/orders-store.ts'
import type { DueQuery, OrderQuery } from './reads/queries.ts'
import { deleteExpiredUsage, deleteUsage, readUsage, type UsageQuery } from './reads/usage-store.ts'
import {
  type Balance,
  type BalanceScope,
  type DefaultWalletScope,
  listBalances,
  listWallets,
  type PastBalance,
  readBalance,
  readBalanceAt,
  readDefaultWallet,
  readWallet,
  type Wallet,
  type WalletScope,
} from './reads/wallets-store.ts'

/** A double-entry ledger of accounts, wallets and orders. Only execute() creates an order or changes its status. */
export interface Ledger {
  /**
   * Returns a ledger for the transaction `tx`. Inside it, use no other ledger: that would wait for PGlite's single
   * connection, which `tx` occupies.
   */
  within(tx: Database): Ledger

  /**
   * Creates an order or changes its status, and returns the order. All rows are written in one transaction. With
   * `idempotency`, a repeated request returns its first result; omit it within `once`. Amounts are in minor units.
   *
   * Throws a Refusal and writes nothing if the command is rejected:
   * - RESOURCE.NOT_FOUND: unknown order, or unknown wallet of the workspace
   * - STATE.CONFLICT: the order has a status not in `expected`, has no open hold to end, or fails `whileActive`
   * - ACCESS.PERMISSION_DENIED: an operator decides on an order that the same person created or decided on before, or
   *   that moves money of the person's own workspace
   * - WALLET.NOT_ACTIVE, WALLET.INSUFFICIENT_FUNDS, or the code that a house account or an exceeded sum names
   * - VALIDATION.INVALID_PARAMETER: a wallet has another currency
   * - REQUEST.IN_PROGRESS, REQUEST.ID_REUSED: the rules of `idempotency`
   *
   * Throws an Error if the entries do not sum to zero in each currency, or if no domain declares a type.
   */
  execute(command: OrderCommand): Promise<Order>

  /** Registers the types of this process's domains. Throws an Error if another domain has registered one. */
  registerTypes(): Promise<void>

  /** Returns the time of the ledger's clock. */
  now(): Instant

  /** Returns the life cycle of an order type that a domain of this process declares with `orderType`, or undefined. */
  lifeCycleOf(type: OrderType): LifeCycle | undefined

  /** Returns the flow type of a request. Throws VALIDATION.INVALID_PARAMETER for `field` if no domain declares it. */
  parseFlowType(text: string, field?: string): FlowType

  /**
   * Posts opening funds from CLEARING to a wallet, without an order. Not idempotent. Throws RESOURCE.NOT_FOUND for an
   * unknown wallet. Domains pay out by `execute` instead.
   */
  fundWallet(funding: Funding): Promise<void>

  /** Opens the missing house accounts, one of each kind per currency. Idempotent. */
  ensureHouseAccounts(currencies: readonly string[]): Promise<void>

  /**
   * Raises the opening funds of a house account to the specified amounts, and never lowers them. Idempotent. Call it in
   * `create`, because a house account pays out only what it has.
   */
  provideFunds(account: FundedAccount, amounts: readonly Money[]): Promise<void>

  /** Opens an empty wallet. Requires a transaction. A workspace has one default wallet per currency; a closed one is replaced. */
  openWallet(wallet: NewWallet): Promise<void>

  /** Returns false if the wallet has another status than expected, or has funds and would be closed. */
  changeWalletStatus(change: WalletStatusChange): Promise<boolean>

  /**
   * Returns the stored result of a request, or undefined. Inside a transaction, also locks the key. Throws
   * REQUEST.IN_PROGRESS if another transaction has locked it, and REQUEST.ID_REUSED if the stored request had another
   * body. Extensions use `once`.
   */
  findStoredResult(key: IdempotencyKey): Promise<{ result: unknown } | undefined>

  /** Stores the result of a command that has no postings. Call `findStoredResult` first, in the same transaction. */
  storeResult(key: IdempotencyKey, result: unknown): Promise<void>

  /**
   * Returns the order of work(). If it throws a Refusal but the same request succeeded before, returns the order stored
   * then.
   */
  replayOnRefusal(key: IdempotencyKey, work: () => Promise<Order>): Promise<Order>

  /** Deletes up to `limit` expired results of requests. Returns the number of deleted results. */
  deleteExpiredResults(limit: number): Promise<number>

  /** Throws ACCESS.PERMISSION_DENIED if both accounts belong to the same person. */
  assertDifferentPerson(creator: AccountId, decider: AccountId): Promise<void>

  /** Throws ACCESS.PERMISSION_DENIED if the operator's person belongs to the workspace with any account. */
  assertOutsider(workspace: WorkspaceId, operator: AccountId): Promise<void>

  /** Returns a workspace's wallets, oldest first. */
  listWallets(workspace: WorkspaceId): Promise<Wallet[]>

  /** Returns undefined if the wallet does not exist or belongs to another workspace. */
  readWallet(scope: WalletScope): Promise<Wallet | undefined>

  /** Returns the workspace's default wallet in a currency, or undefined. */
  readDefaultWallet(scope: DefaultWalletScope): Promise<Wallet | undefined>

  /** Returns undefined if the wallet does not exist or belongs to another workspace. */
  readBalance(scope: BalanceScope): Promise<Balance | undefined>

  /** Returns the balances of those wallets that belong to the workspace, in any order. */
  listBalances(scope: { wallets: readonly WalletId[]; workspace: WorkspaceId }): Promise<Balance[]>

  /** Returns a wallet's balance at an instant, including changes with exactly this timestamp. */
  readBalanceAt(scope: BalanceScope, instant: Instant): Promise<PastBalance | undefined>

  /** Returns one page and the total number of flows. Outgoing amounts are negative. */
  listFlows(query: FlowQuery): Promise<Page<Flow>>

  /** Returns one page of flows without a total. */
  readFlows(query: FlowQuery): Promise<Flow[]>

  /** Returns an order's journal entries, oldest first, including those of house accounts. A debit is negative. */
  listPostings(order: OrderId): Promise<Posting[]>

  /** Throws RESOURCE.NOT_FOUND if the order does not exist or the workspace may not see it. */
  readOrder(scope: OrderScope): Promise<ListedOrder>

  /** Returns the type of an order of any workspace, or undefined. */
  readOrderType(order: OrderId): Promise<OrderType | undefined>

  /** Returns one page and the total number of orders. */
  listOrders(query: OrderQuery): Promise<Page<ListedOrder>>

  /** Returns one page of orders without a total. */
  readOrders(query: OrderQuery): Promise<ListedOrder[]>

  /** Returns the ids of open orders whose `expiresAt` has passed, oldest first. */
  listDueOrders(query: DueQuery): Promise<OrderId[]>

  /** Returns a rolling sum of the last 24 hours, to which the daily limits apply. */
  readUsage(query: UsageQuery): Promise<Money>

  /** Resets the daily limits of a sandbox workspace. */
  deleteUsage(workspace: WorkspaceId): Promise<void>

  /** Deletes up to `limit` amounts that no rolling sum contains any more. Returns the number of deleted amounts. */
  deleteExpiredUsage(limit: number): Promise<number>

  /** Checks all invariants. Reads the whole ledger. */
  checkInvariants(): Promise<InvariantCheck[]>

  /** Returns the first violated invariant, or null. Reads the whole ledger. */
  verifyLedger(): Promise<Discrepancy | null>

  /** Stores the latest result for all replicas. */
  recordCheck(check: CompletedCheck): Promise<void>

  /** Returns undefined before the first check has completed. */
  readLastCheck(): Promise<LastCheck | undefined>
}

export function createLedger(ports: LedgerPorts): Ledger {
  const { database } = ports
  return {
    within: (tx) => createLedger({ ...ports, database: tx }),
    execute: executeOrder.bind(null, ports),
    registerTypes: registerTypes.bind(null, ports),
    now: () => ports.clock.now(),
    lifeCycleOf: lifeCycleOf.bind(null, ports),
    parseFlowType: parseFlowType.bind(null, ports),
    fundWallet: fundWallet.bind(null, ports),
    ensureHouseAccounts: ensureHouseAccounts.bind(null, ports),
    provideFunds: provideFunds.bind(null, ports),
    openWallet: insertWallet.bind(null, database),
    changeWalletStatus: changeWalletStatus.bind(null, database),
    findStoredResult: findStoredResult.bind(null, ports),
    storeResult: storeResult.bind(null, ports),
    replayOnRefusal: replayOnRefusal.bind(null, ports),
    deleteExpiredResults: deleteExpiredResults.bind(null, ports),
    assertDifferentPerson: assertDifferentPerson.bind(null, database),
    assertOutsider: assertOutsider.bind(null, database),
    listWallets: listWallets.bind(null, database),
    readWallet: readWallet.bind(null, database),
    readDefaultWallet: readDefaultWallet.bind(null, database),
    readBalance: readBalance.bind(null, database),
    listBalances: listBalances.bind(null, database),
    readBalanceAt: readBalanceAt.bind(null, ports),
    listFlows: listFlows.bind(null, database),
    readFlows: readFlows.bind(null, database),
    listPostings: listPostings.bind(null, database),
    readOrder: readOrder.bind(null, database),
    readOrderType: readOrderType.bind(null, database),
    listOrders: listOrders.bind(null, database),
    readOrders: readOrders.bind(null, database),
    listDueOrders: listDueOrders.bind(null, database),
    readUsage: readUsage.bind(null, database),
    deleteUsage: deleteUsage.bind(null, database),
    deleteExpiredUsage: (limit) => deleteExpiredUsage(database, ports.clock.now(), limit),
    checkInvariants: checkInvariants.bind(null, database),
    verifyLedger: verifyLedger.bind(null, database),
    recordCheck: recordCheck.bind(null, database),
    readLastCheck: readLastCheck.bind(null, database),
  }
}

function lifeCycleOf({ types }: LedgerPorts, type: OrderType): LifeCycle | undefined {
  const declared = types.orders.get(type)
  return isLifeCycle(declared) ? declared : undefined
}

function parseFlowType(ports: LedgerPorts, text: string, field = 'flowType'): FlowType {
  const found = [...ports.types.flowTypes.keys()].find((name): name is FlowType => name === text)
  if (found === undefined) throw invalid(field, 'no domain declares this flow type')
  return found
}
