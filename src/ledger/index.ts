/**
 * The double-entry ledger under every money domain. `Ledger` is the entry point: start reading at ledger.ts. `commands/` writes,
 * `reads/` queries, `integrity/` verifies the invariants, and `schema/` holds tables and functions: a money command is one SQL
 * function. The other files are what the order domains share: tariffs, expiry, views. Depends on kernel, database and platform.
 */
export type * from './commands/command.ts'
export { type CommandContext, commandOrigin, memberContext, operatorContext } from './commands/context.ts'
export type { LedgerPorts } from './commands/execute-store.ts'
export { operatorDecision } from './commands/four-eyes-store.ts'
export { type Discrepancy, verifyLedger } from './integrity/invariants-store.ts'
export { ledgerCheckJob, resultCleanupJob } from './jobs.ts'
export { Ledger } from './ledger.ts'
export { endedStatuses, type Order, reachedAt } from './order.ts'
export { expiredAt, type OrderExpiry, rechargeExpiry } from './order-expiry.ts'
export {
  isOwnOrder,
  toCodedValue,
  toFlowAmountView,
  toOrderView,
  toWorkspaceKindView,
  type Viewer,
  viewerOf,
} from './order-view.ts'
export type { Balance } from './reads/balances-store.ts'
export type { Flow, FlowQuery, Posting } from './reads/flows-store.ts'
export { type OrderListRequest, toListParameters, toOrderQuery } from './reads/list-parameters.ts'
export type { ListedOrder, OrderQuery } from './reads/orders-store.ts'
export type { Wallet } from './reads/wallets-store.ts'
export {
  type Charge,
  chargeParties,
  computeCharge,
  dailyUsageData,
  feeEntries,
  feeParties,
  parseConfiguredAmount,
  parseTariff,
  type Tariff,
} from './tariff.ts'
