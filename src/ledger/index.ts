/**
 * The double-entry ledger that all money domains use. Start reading at ledger.ts. `commands/` writes, `reads/` queries,
 * and `schema/` has the tables and the SQL function that executes a command. Domains with orders also use order.ts,
 * order-view.ts and tariff.ts. The ledger depends on the kernel, the database and the platform.
 */

export { ledgerArchiveRules } from './archive-store.ts'
export * from './commands/command.ts'
export type { LedgerPorts } from './commands/execute-store.ts'
export { type Discrepancy, verifyLedger } from './integrity-store.ts'
export { cleanupJobs, ledgerCheckJob } from './jobs.ts'
export { createLedger, type Ledger } from './ledger.ts'
export { dailyLimits, type OutgoingRules, parseOutgoingRules } from './limits.ts'
export { endedStatuses, expiredAt, type Order, type OrderExpiry, reachedAt } from './order.ts'
export { orderEvents } from './order-types/events.ts'
export { expireOrders, expiryBatchSize } from './order-types/expiry.ts'
export { type Change, createOrders, type Opening } from './order-types/orders.ts'
export {
  isOwnOrder,
  toCodedValue,
  toFlowAmountView,
  toFlowTypeView,
  toOperatorOrderView,
  toOrderView,
  toWorkspaceKindView,
  type Viewer,
  viewerOf,
} from './order-view.ts'
export type { Flow, FlowQuery, Posting } from './reads/flows-store.ts'
export { countWaitingOrders } from './reads/orders-store.ts'
export { type OrderQuery, toListParameters, toOrderQuery } from './reads/queries.ts'
export type { Balance, Wallet } from './reads/wallets-store.ts'
export { verifyRecentChanges } from './recent-integrity-store.ts'
export { formerMemberHours } from './schema/duties.ts'
export { parseSeparation, type SeparationOfDuties, separationSetting } from './separation.ts'
export {
  type Charge,
  chargeOf,
  computeCharge,
  parseConfiguredAmount,
  parseTariff,
  type Tariff,
  tariffSettings,
} from './tariff.ts'
