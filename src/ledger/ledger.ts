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
 * A double-entry ledger. It contains accounts, the wallets of workspaces, and the orders that move funds between
 * accounts. Only `execute` creates an order or changes its status.
 */
export class Ledger {
  readonly #ports: LedgerPorts
  readonly #database: Database

  constructor(ports: LedgerPorts) {
    this.#ports = ports
    this.#database = ports.database
  }

  /**
   * Returns a ledger that reads and writes in the transaction `tx`. Inside the transaction, use only the returned
   * ledger. Another ledger would wait for PGlite's single connection, which `tx` occupies.
   */
  within(tx: Database): Ledger {
    return new Ledger({ ...this.#ports, database: tx })
  }

  /**
   * Creates an order or changes its status. The journal entries, holds, audit entry and stored result are written in
   * the same transaction. A repeated request returns its first result. Throws a Refusal if the command is rejected, in
   * which case nothing is written.
   */
  execute(command: OrderCommand): Promise<Order> {
    return executeOrder(this.#ports, command)
  }

  /** Posts opening funds to a wallet. Not idempotent: every call posts the funds again. */
  fundWallet(funding: Funding): Promise<void> {
    return fundWallet(this.#ports, funding)
  }

  /** Opens the house accounts of the currencies that do not exist yet. Idempotent. */
  ensureHouseAccounts(currencies: readonly string[]): Promise<void> {
    return ensureHouseAccounts(this.#ports, currencies)
  }

  /**
   * Raises the house's liquidity to the specified amounts, one per currency. Idempotent. Never lowers the liquidity.
   */
  provideLiquidity(amounts: readonly Money[]): Promise<void> {
    return provideLiquidity(this.#ports, amounts)
  }

  /** Opens a wallet. Call this method inside a transaction. */
  openWallet(wallet: NewWallet): Promise<void> {
    return insertWallet(this.#database, wallet)
  }

  /**
   * Changes a wallet's status. Returns false if the wallet does not have the expected status, or has funds and would be
   * closed.
   */
  changeWalletStatus(change: WalletStatusChange): Promise<boolean> {
    return changeWalletStatus(this.#database, change)
  }

  /**
   * Returns the stored result of a request, or undefined if the request has not been executed. Inside a transaction,
   * also locks the request's key.
   */
  findStoredResult(key: IdempotencyKey): Promise<{ result: unknown } | undefined> {
    return findStoredResult(this.#ports, key)
  }

  /** Stores the result of a command that has no postings. Call `findStoredResult` first, in the same transaction. */
  storeResult(key: IdempotencyKey, result: unknown): Promise<void> {
    return storeResult(this.#ports, key, result)
  }

  /**
   * Returns the order that `work` returns. If `work` throws a Refusal and the same request has succeeded before,
   * returns the order stored by that request.
   */
  replayOnRefusal(key: IdempotencyKey, work: () => Promise<Order>): Promise<Order> {
    return replayOnRefusal(this.#ports, key, work)
  }

  /** Deletes up to `limit` expired results of requests. Returns the number of deleted results. */
  deleteExpiredResults(limit: number): Promise<number> {
    return deleteExpiredResults(this.#ports, limit)
  }

  /** Enforces the four-eyes rule: throws ACCESS.PERMISSION_DENIED if both accounts belong to the same person. */
  assertDifferentPerson(creator: AccountId, decider: AccountId): Promise<void> {
    return assertDifferentPerson(this.#database, creator, decider)
  }

  /** Returns a workspace's wallets, oldest first. */
  listWallets(workspace: WorkspaceId): Promise<Wallet[]> {
    return listWallets(this.#database, workspace)
  }

  /** Returns a wallet. Returns undefined if the wallet does not exist or belongs to another workspace. */
  readWallet(scope: WalletScope): Promise<Wallet | undefined> {
    return readWallet(this.#database, scope)
  }

  /** Returns the workspace's default wallet in a currency, or undefined if there is none. */
  readDefaultWallet(scope: DefaultWalletScope): Promise<Wallet | undefined> {
    return readDefaultWallet(this.#database, scope)
  }

  /**
   * Returns a wallet's current balance. Returns undefined if the wallet does not exist or belongs to another workspace.
   */
  readBalance(scope: BalanceScope): Promise<Balance | undefined> {
    return readBalance(this.#database, scope)
  }

  /** Returns a wallet's balance at an instant. Changes with exactly this timestamp are included. */
  readBalanceAt(scope: BalanceScope, instant: Instant): Promise<Balance | undefined> {
    return readBalanceAt(this.#database, scope, instant)
  }

  /** Returns one page of a wallet's flows, and the total number of flows that match the query. */
  listFlows(query: FlowQuery): Promise<Page<Flow>> {
    return listFlows(this.#database, query)
  }

  /** Returns one page of a wallet's flows without counting the matching flows. */
  readFlows(query: FlowQuery): Promise<Flow[]> {
    return readFlows(this.#database, query)
  }

  /** Returns all journal entries of an order, including the entries of house accounts. */
  listPostings(order: OrderId): Promise<Posting[]> {
    return listPostings(this.#database, order)
  }

  /** Returns an order. Throws RESOURCE.NOT_FOUND if the order does not exist or the workspace may not see it. */
  readOrder(scope: OrderScope): Promise<ListedOrder> {
    return readOrder(this.#database, scope)
  }

  /** Returns the type of an order of any workspace, or undefined if the order does not exist. */
  readOrderType(order: OrderId): Promise<OrderType | undefined> {
    return readOrderType(this.#database, order)
  }

  /** Returns one page of orders, and the total number of orders that match the query. */
  listOrders(query: OrderQuery): Promise<Page<ListedOrder>> {
    return listOrders(this.#database, query)
  }

  /** Returns one page of orders without counting the matching orders. */
  readOrders(query: OrderQuery): Promise<ListedOrder[]> {
    return readOrders(this.#database, query)
  }

  /** Returns open orders whose `expiresAt` has passed, oldest first. */
  listDueOrders(query: DueQuery): Promise<OrderId[]> {
    return listDueOrders(this.#database, query)
  }

  /** Returns the total amount of a workspace's orders on a day. The daily limit applies to this amount. */
  readDailyUsage(query: UsageQuery): Promise<Money> {
    return readDailyUsage(this.#database, query)
  }

  /** Deletes the daily usage counters of a sandbox workspace, which resets its daily limits. */
  deleteDailyUsage(workspace: WorkspaceId): Promise<void> {
    return deleteDailyUsage(this.#database, workspace)
  }

  /** Checks all invariants and returns the result of each check. Reads the whole ledger. */
  checkInvariants(): Promise<InvariantCheck[]> {
    return checkInvariants(this.#database)
  }

  /** Checks all invariants and returns the first violated one, or null. Reads the whole ledger. */
  verifyLedger(): Promise<Discrepancy | null> {
    return verifyLedger(this.#database)
  }

  /** Stores the result of the latest check. All replicas read the same result. */
  recordCheck(check: LastCheck): Promise<void> {
    return recordCheck(this.#database, check)
  }

  /** Returns the result of the latest check. Returns undefined if no check has completed yet. */
  readLastCheck(): Promise<LastCheck | undefined> {
    return readLastCheck(this.#database)
  }
}
