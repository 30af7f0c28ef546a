/**
 * The stages of the pipeline. A stage reads the operation's policy, adds facts to the Call, or throws a Refusal. A stage
 * that needs configuration or ports is built by a function that returns a `Stage`. app.ts puts them in order.
 */
export { accessCodeStage } from './access-code.ts'
export {
  authenticateStage,
  permissionStage,
  reauthorizeAfter,
  skipReauthorization,
  workspaceStage,
} from './access-control.ts'
export { bodyStage } from './body.ts'
export { dispatchStage } from './dispatch.ts'
export { idempotencyStage, validateStage } from './input.ts'
export {
  addressLimitStage,
  callerLimitStage,
  createAddressSpender,
  createUnmatchedLimit,
  type LimitUnmatched,
} from './limits.ts'
export { clientHashStage, edgeStage, requiredHeadersStage } from './request-headers.ts'
export { secureChannelStage } from './secure-channel.ts'
