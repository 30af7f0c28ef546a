export { type AuditEvent, recordAudit } from './store.ts'
