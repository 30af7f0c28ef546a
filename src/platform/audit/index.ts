/**
 * The audit log. Start with record.ts: operations insert an entry in the transaction that they record. A background job
 * seals committed entries into a hash chain (seal.ts), and verify.ts checks the chain. schema.ts has the tables and the
 * triggers that make them append-only. Depends on the kernel and the database.
 */

export {
  type AuditContext,
  auditContextOf,
  recordRefusal,
  recordSuccess,
  unauthenticatedAuditContext,
} from './record.ts'
export { sealAuditLog } from './seal.ts'
export { insertAuditEntry } from './store.ts'
export { type ChainBreak, verifyAuditLog } from './verify.ts'
