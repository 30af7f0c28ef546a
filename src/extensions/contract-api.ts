/** The module `portico/contract` for extensions: the building blocks of operations. Every export is public API. */
export { z } from 'zod'
export * from '../contract/fields.ts'
export { interval, listQuery, page } from '../contract/lists.ts'
export { anonymous, decision, everyPortal, member, money, operator, own } from '../contract/policies.ts'
export { codedFamily, operation } from '../kernel/index.ts'
