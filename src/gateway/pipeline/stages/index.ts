/**
 * The stages of the pipeline. A stage reads the operation's policy, sets properties of the Call, or throws a Refusal.
 * app.ts puts them in order.
 */
export { type AssertOffered, accessCodeStage, offerCheck } from './access-code.ts'
export {
  authenticateStage,
  checkCallerBy,
  payoutHoldStage,
  permissionStage,
  reauthorizeAfter,
  skipCheck,
  skipReauthorization,
  workspaceStage,
} from './access-control.ts'
export { bodyStage } from './body.ts'
export { dispatchStage } from './dispatch.ts'
export { relayEventsStage } from './event-streams.ts'
export { idempotencyStage, validateStage } from './input.ts'
export { keyProofStage } from './key-proof.ts'
export { addressGuardStage, createSiteLimit, createUncountedLimit, type LimitUncounted, limitsStage } from './limits.ts'
export { clientHashStage, edgeStage, requiredHeadersStage } from './request-headers.ts'
export { secureChannelStage } from './secure-channel.ts'
export {
  auditContextOfCall,
  auditSubjectOf,
  type RecordedCommands,
  recordCommandsStage,
} from './service-commands.ts'
export { findStepUpBy, spendStepUpBy, stepUpStage } from './step-up.ts'
export { transferLimitStage } from './transfers.ts'
