/** The module `portico/contract` for extensions: the building blocks of operations. Every export is public API. */
export { z } from 'zod'
export {
  amount,
  bizId,
  coded,
  codeOf,
  currency,
  decimal,
  fitsCurrency,
  id,
  instant,
  moneyOf,
  nothing,
  opaque,
  partialUpdate,
  reason,
  text,
  timestamp,
  uniqueList,
} from '../contract/fields.ts'
export type { LedgerTypes, OrderTypeDeclaration } from '../contract/ledger-types.ts'
export { interval, listQuery, page } from '../contract/lists.ts'
export { anonymous, decision, everyPortal, member, money, operator, own } from '../contract/policies.ts'
export { codedFamily, operation } from '../kernel/index.ts'
