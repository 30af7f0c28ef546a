import type { Database } from '../database/index.ts'
import type { AccountId, Instant, Money, OrderId, Page, WorkspaceId } from '../kernel/index.ts'
import type { IdempotencyKey, OrderCommand } from './commands/command.ts'
import { executeOrder, type LedgerPorts } from './commands/execute-store.ts'
import { assertDifferentPerson } from './commands/four-eyes-store.ts'
import { ensureHouseAccounts, type Funding, fundWallet, provideLiquidity } from './commands/house-accounts-store.ts'
import { deleteExpiredResults, findStoredResult, replayOnRefusal, storeResult } from './commands/idempotency-store.ts'
import { changeWalletStatus, insertWallet, type NewWallet, type WalletStatusChange } from './commands/wallets-store.ts'
import {
  checkInvariants,
  type Discrepancy,
  type InvariantCheck,
  type LastCheck,
  readLastCheck,
  recordCheck,
  verifyLedger,
} from './integrity-store.ts'
import type { Order } from './order.ts'
import { deleteDailyUsage, readDailyUsage, type UsageQuery } from './reads/daily-usage-store.ts'
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
import {
  type Balance,
  type BalanceScope,
  type DefaultWalletScope,
  listWallets,
  readBalance,
  readBalanceAt,
  readDefaultWallet,
  readWallet,
  type Wallet,
  type WalletScope,
} from './reads/wallets-store.ts'
import type { OrderType } from './schema/tables.ts'

/**
 * A double-entry ledger: accounts, the wallets on top of them, and the orders that move funds. Only `execute` creates or moves
 * an order.
 */
export class Ledger {
  readonly #ports: LedgerPorts
  readonly #database: Database

  constructor(ports: LedgerPorts) {
    this.#ports = ports
    this.#database = ports.database
  }

  /** The ledger on a transaction. Inside it, use no other ledger: PGlite has a single connection. */
  within(tx: Database): Ledger {
    return new Ledger({ ...this.#ports, database: tx })
  }

  /**
   * Creates or moves an order with its journal entries, holds, audit entry and stored result, in one transaction. Repeating a
   * request returns its first result. Throws a Refusal if nothing was written.
   */
  execute(command: OrderCommand): Promise<Order> {
    return executeOrder(this.#ports, command)
  }

  /** Posts a wallet's opening funds. Not idempotent: every call posts again. */
  fundWallet(funding: Funding): Promise<void> {
    return fundWallet(this.#ports, funding)
  }

  /** Opens the missing house accounts of the currencies. Idempotent. */
  ensureHouseAccounts(currencies: readonly string[]): Promise<void> {
    return ensureHouseAccounts(this.#ports, currencies)
  }

  /** Raises the house's liquidity to the given amounts. Idempotent; never lowers it. */
  provideLiquidity(amounts: readonly Money[]): Promise<void> {
    return provideLiquidity(this.#ports, amounts)
  }

  /** Opens a wallet. Call inside a transaction. */
  openWallet(wallet: NewWallet): Promise<void> {
    return insertWallet(this.#database, wallet)
  }

  /** Changes a wallet's status. Returns false if the wallet is not in the expected state. */
  changeWalletStatus(change: WalletStatusChange): Promise<boolean> {
    return changeWalletStatus(this.#database, change)
  }

  /** The stored result of a request, undefined if it has not been executed. Locks its key inside a transaction. */
  findStoredResult(key: IdempotencyKey): Promise<{ result: unknown } | undefined> {
    return findStoredResult(this.#ports, key)
  }

  /** Stores the result of a command without postings, after `findStoredResult` in the same transaction. */
  storeResult(key: IdempotencyKey, result: unknown): Promise<void> {
    return storeResult(this.#ports, key, result)
  }

  /** The order that `work` returns, or the stored one if `work` is refused and the same request has succeeded before. */
  replayOnRefusal(key: IdempotencyKey, work: () => Promise<Order>): Promise<Order> {
    return replayOnRefusal(this.#ports, key, work)
  }

  /** Deletes up to `limit` expired results of requests. Returns how many it deleted. */
  deleteExpiredResults(limit: number): Promise<number> {
    return deleteExpiredResults(this.#ports, limit)
  }

  /** The four-eyes rule: throws ACCESS.PERMISSION_DENIED if both accounts belong to the same person. */
  assertDifferentPerson(creator: AccountId, decider: AccountId): Promise<void> {
    return assertDifferentPerson(this.#database, creator, decider)
  }

  /** A workspace's wallets, oldest first. */
  listWallets(workspace: WorkspaceId): Promise<Wallet[]> {
    return listWallets(this.#database, workspace)
  }

  /** Undefined for an unknown wallet and for one of another workspace. */
  readWallet(scope: WalletScope): Promise<Wallet | undefined> {
    return readWallet(this.#database, scope)
  }

  /** The workspace's default wallet of a currency. */
  readDefaultWallet(scope: DefaultWalletScope): Promise<Wallet | undefined> {
    return readDefaultWallet(this.#database, scope)
  }

  /** A wallet's current balance. */
  readBalance(scope: BalanceScope): Promise<Balance | undefined> {
    return readBalance(this.#database, scope)
  }

  /** A wallet's balance at an instant, changes at that instant included. */
  readBalanceAt(scope: BalanceScope, instant: Instant): Promise<Balance | undefined> {
    return readBalanceAt(this.#database, scope, instant)
  }

  /** One page of a wallet's flows with the total. */
  listFlows(query: FlowQuery): Promise<Page<Flow>> {
    return listFlows(this.#database, query)
  }

  /** One page of a wallet's flows without the total. */
  readFlows(query: FlowQuery): Promise<Flow[]> {
    return readFlows(this.#database, query)
  }

  /** All entries of an order, including those of house accounts. */
  listPostings(order: OrderId): Promise<Posting[]> {
    return listPostings(this.#database, order)
  }

  /** An order. Throws RESOURCE.NOT_FOUND for an unknown order and for one that the workspace may not see. */
  readOrder(scope: OrderScope): Promise<ListedOrder> {
    return readOrder(this.#database, scope)
  }

  /** The type of an order of any workspace. */
  readOrderType(order: OrderId): Promise<OrderType | undefined> {
    return readOrderType(this.#database, order)
  }

  /** One page of orders with the total. */
  listOrders(query: OrderQuery): Promise<Page<ListedOrder>> {
    return listOrders(this.#database, query)
  }

  /** One page of orders without the total. */
  readOrders(query: OrderQuery): Promise<ListedOrder[]> {
    return readOrders(this.#database, query)
  }

  /** Orders that are past their expiry and still open, oldest first. */
  listDueOrders(query: DueQuery): Promise<OrderId[]> {
    return listDueOrders(this.#database, query)
  }

  /** The total of a workspace's orders on a day, for its daily limit. */
  readDailyUsage(query: UsageQuery): Promise<Money> {
    return readDailyUsage(this.#database, query)
  }

  /** Resets the daily usage of a sandbox. */
  deleteDailyUsage(workspace: WorkspaceId): Promise<void> {
    return deleteDailyUsage(this.#database, workspace)
  }

  /** The result of every invariant check. Reads the whole ledger. */
  checkInvariants(): Promise<InvariantCheck[]> {
    return checkInvariants(this.#database)
  }

  /** The first violated invariant, or null. Reads the whole ledger. */
  verifyLedger(): Promise<Discrepancy | null> {
    return verifyLedger(this.#database)
  }

  /** Stores the result of the latest check for all replicas. */
  recordCheck(check: LastCheck): Promise<void> {
    return recordCheck(this.#database, check)
  }

  /** The latest check, undefined before the first one. */
  readLastCheck(): Promise<LastCheck | undefined> {
    return readLastCheck(this.#database)
  }
}
