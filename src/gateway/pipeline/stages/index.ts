/**
 * The stages of the pipeline, one per file. A stage reads the operation's policy, adds facts to the Call, or throws a
 * Refusal. Stages that need configuration or ports are built by a function that returns a `Stage`. app.ts puts them in order.
 */
export { accessCodeStage } from './access-code.ts'
export { authenticateStage } from './authenticate.ts'
export { bodyStage } from './body.ts'
export { dispatchStage } from './dispatch.ts'
export { edgeStage } from './edge.ts'
export { idempotencyStage } from './idempotency.ts'
export {
  addressLimitStage,
  callerLimitStage,
  createAddressSpender,
  createUnmatchedLimit,
  type LimitUnmatched,
} from './limits.ts'
export { permissionStage } from './permission.ts'
export { reauthorizeAfter, skipReauthorization } from './reauthorize.ts'
export { clientHashStage, requiredHeadersStage } from './required-headers.ts'
export { secureChannelStage } from './secure-channel.ts'
export { validateStage } from './validate.ts'
export { workspaceStage } from './workspace.ts'
