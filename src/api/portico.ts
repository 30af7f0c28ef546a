/** The module `portico` for extensions. Every export is public API. */
export { sql } from 'kysely'
export {
  bizId,
  createHandlerTable,
  formatMoney,
  invalid,
  notFound,
  parseMoney,
  Refusal,
  toIso,
} from '../kernel/index.ts'
export { auditContextOf, recordSuccess } from '../platform/audit/index.ts'
export { enqueueJob } from '../platform/jobs/index.ts'
export { domain } from './domain.ts'
