import type { Database } from '../database/index.ts'
import { readBalance, readBalanceAt } from './balances-store.ts'
import { checkBook } from './book-store.ts'
import { keepCheck, readCheck } from './check-store.ts'
import { listDueOrders } from './due-store.ts'
import { execute, type LedgerPorts } from './execute.ts'
import { listFlows, listPostings, readFlows } from './flows-store.ts'
import { ensureHouse } from './house-store.ts'
import { earlierAnswer, forgetAnswers, keepAnswer } from './idempotency.ts'
import { verifyBook } from './invariants.ts'
import { provideLiquidity } from './liquidity.ts'
import { isSamePerson } from './maker-store.ts'
import { fundWallet } from './opening.ts'
import { listOrders, readOrder, readOrders, readOrderType } from './orders-store.ts'
import { orEarlierOrder } from './remembered.ts'
import { deleteUsageOf, readDailyUsage } from './usage-store.ts'
import { insertWallet, listWallets, moveWallet, readDefaultWallet, readWallet } from './wallets-store.ts'

export {
  type Acting,
  memberActing,
  operatorActing,
  signedBy,
} from './acting.ts'
export type { Balance } from './balances-store.ts'
export { checkingBook } from './checking.ts'
export type * from './command.ts'
export type { LedgerPorts } from './execute.ts'
export { feeEntries, feeParties } from './fee.ts'
export type { Flow, FlowQuery, Posting } from './flows-store.ts'
export { forgettingAnswers } from './forgetting.ts'
export type { Discrepancy } from './invariants.ts'
export { verifyBook } from './invariants.ts'
export { listing } from './listing.ts'
export { endedStatuses, type Order, reachedAt } from './order.ts'
export type { OrderQuery, ReadOrder } from './orders-store.ts'
export { type RunningOut, ranOutAt, rechargeRunsOut } from './running-out.ts'
export { type Charge, chargeOf, housesOf, type Tariff, type TariffTerms, tariffOf, usageOf } from './tariff.ts'
export { type Teller, tellCode, tellKind, tellOrder, tellWay } from './telling.ts'
export type { Wallet } from './wallets-store.ts'

const over =
  <First>(first: First) =>
  <A extends unknown[], R>(work: (first: First, ...rest: A) => R) =>
  (...rest: A): R =>
    work(first, ...rest)

const parts = (ports: LedgerPorts) => {
  const by = over(ports)
  const from = over(ports.database)
  return {
    /** One command with an order: moved or made, posted, held, audited, remembered; or refused with nothing done. */
    execute: by(execute),
    fundWallet: by(fundWallet),
    ensureHouse: by(ensureHouse),
    provideLiquidity: by(provideLiquidity),
    earlierAnswer: by(earlierAnswer),
    orEarlierOrder: by(orEarlierOrder),
    keepAnswer: by(keepAnswer),
    forgetAnswers: by(forgetAnswers),
    isSamePerson: from(isSamePerson),
    openWallet: from(insertWallet),
    moveWallet: from(moveWallet),
    listWallets: from(listWallets),
    readWallet: from(readWallet),
    readDefaultWallet: from(readDefaultWallet),
    readBalance: from(readBalance),
    readBalanceAt: from(readBalanceAt),
    listFlows: from(listFlows),
    readFlows: from(readFlows),
    readOrder: from(readOrder),
    readOrderType: from(readOrderType),
    listOrders: from(listOrders),
    readOrders: from(readOrders),
    listDueOrders: from(listDueOrders),
    readDailyUsage: from(readDailyUsage),
    forgetUsage: from(deleteUsageOf),
    listPostings: from(listPostings),
    checkBook: from(checkBook),
    verifyBook: from(verifyBook),
    keepCheck: from(keepCheck),
    readCheck: from(readCheck),
  }
}

/** Double entry, under every money domain. */
export interface Ledger extends ReturnType<typeof parts> {
  /** The same ledger inside a transaction; within one, nothing else may be used (PGlite has one connection). */
  within(tx: Database): Ledger
}

export const createLedger = (ports: LedgerPorts): Ledger => ({
  ...parts(ports),
  within: (tx) => createLedger({ ...ports, database: tx }),
})
