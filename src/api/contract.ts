/** The module `portico/contract` for extensions: the building blocks of operations. Every export is public API. */
export { z } from 'zod'
export { addressRange, country, email, language, phone, timezone } from '../contract/account-fields.ts'
export {
  type CloudEvent,
  type EventData,
  type EventDeclaration,
  type EventType,
  event,
} from '../contract/events/event.ts'
export {
  amount,
  bizId,
  changesSomething,
  coded,
  codeOf,
  currency,
  decimal,
  id,
  instant,
  line,
  memberReason,
  moneyOf,
  nothing,
  opaque,
  orderFields,
  partialUpdate,
  reason,
  statusHistory,
  text,
  timestamp,
  uniqueList,
  withMoney,
  workspaceFields,
  workspaceFilters,
} from '../contract/fields.ts'
export type { LedgerTypes } from '../contract/ledger/ledger-types.ts'
export {
  type Expiry,
  expiryOf,
  fieldsSetLater,
  type LifeCycle,
  type Move,
  type OrderColumn,
  type OrderTypeDeclaration,
  waitingStatuses,
} from '../contract/ledger/life-cycle.ts'
export { interval, isForward, listQuery, page } from '../contract/lists.ts'
export { anonymous, decision, everyPortal, member, money, operator, own } from '../contract/policies.ts'
export {
  accountPortal,
  accountStatus,
  auditOutcome,
  type ConfirmedTexts,
  codedFamily,
  operation,
  type Purpose,
  roleType,
  workspaceKind,
  workspaceStatus,
} from '../kernel/index.ts'
export {
  type FlowType,
  flowDirection,
  flowFilters,
  flowType,
  flowTypeCode,
  ledgerTypes,
  type OrderFilters,
  type OrderType,
  orderDecision,
  orderOperations,
  orderSort,
  reasonedOrderDecision,
  type WalletStatus,
  walletStatus,
} from '../ledger/contract.ts'
export { orderType } from '../ledger/order-types/contract.ts'
