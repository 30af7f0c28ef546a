export { type Act, actOf, recordAct } from './act.ts'
export { type AuditEvent, recordAudit } from './store.ts'
