export { type Act, actBy, actOf, recordAct, recordRefusedAct } from './record-act.ts'
export { sealAuditLog } from './seal.ts'
export { recordAudit } from './store.ts'
export { type ChainBreak, verifyAuditLog } from './verify.ts'
