/**
 * The audit log. Start with record.ts: operations insert entries in their own transaction. A job seals committed
 * entries into a hash chain (seal.ts), which verify.ts checks. Triggers in schema.ts make the tables append-only.
 * Depends on the kernel and the database.
 */

export { auditArchiveRules } from './archive.ts'
export { readStart } from './archive-store.ts'
export { auditExportJob, exportAuditLog, type SendEntries, sendToWebhook, toLines } from './export.ts'
export { findHead, formatHead, type HeadPlace, parseHead } from './head.ts'
export {
  type AuditContext,
  auditContextOf,
  entryOf,
  isRecorded,
  markRecorded,
  recordRefusal,
  recordSuccess,
  unauthenticatedAuditContext,
} from './record.ts'
export { sealAuditLog } from './seal.ts'
export { type AuditedSetting, recordSetting } from './setting.ts'
export { insertAuditEntry, readExportLag, readHead } from './store.ts'
export { AuditVerifier, type ChainBreak, verifyAuditLog } from './verify.ts'
