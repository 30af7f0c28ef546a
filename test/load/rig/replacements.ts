import type { createAssertionCache } from '../../../src/backends/call-assertion.ts'
import type { replyText } from '../../../src/backends/reply-text.ts'
import type { buildSecurityHeaders } from '../../../src/gateway/http/security-headers.ts'
import type { createRequestLog } from '../../../src/gateway/observability/request-log.ts'
import type { Call, Stage } from '../../../src/gateway/pipeline/call.ts'
import type { accessCodeStage } from '../../../src/gateway/pipeline/stages/access-code.ts'
import type {
  authenticateStage,
  permissionStage,
  workspaceStage,
} from '../../../src/gateway/pipeline/stages/access-control.ts'
import type { validateStage } from '../../../src/gateway/pipeline/stages/input.ts'
import type { addressGuardStage, limitsStage } from '../../../src/gateway/pipeline/stages/limits.ts'
import type { edgeStage, requiredHeadersStage } from '../../../src/gateway/pipeline/stages/request-headers.ts'
import { type MaybePromise, thenSync } from '../../../src/kernel/index.ts'

/** The reads of a workspace. Sign-ins run every stage. */
function isMeasured({ method, operation }: Call): boolean {
  return method === 'GET' && operation.policy.workspace === 'required'
}

/** Runs the stage only for the first measured call. Later ones copy its result. */
function reuseFirst(stage: Stage, copy: (call: Call, first: Call) => void): Stage {
  let first: Call | null = null
  return (call) => {
    if (!isMeasured(call)) return stage(call)
    if (first !== null) return copy(call, first)
    return thenSync(stage(call), () => {
      first = call
    })
  }
}

/** Each function gets the function of src with the same name, and returns the one that runs instead. */
export const replacements = {
  accessCodeStage:
    (create: typeof accessCodeStage): typeof accessCodeStage =>
    (...ports) =>
      reuseFirst(create(...ports), (call, first) => {
        call.portal = first.portal
      }),

  edgeStage:
    (create: typeof edgeStage): typeof edgeStage =>
    (...ports) =>
      reuseFirst(create(...ports), (call, first) => {
        call.edgeTrusted = first.edgeTrusted
        call.clientIp = first.clientIp
        call.userAgent = first.userAgent
        call.locale = first.locale
      }),

  requiredHeadersStage:
    (create: typeof requiredHeadersStage): typeof requiredHeadersStage =>
    (...ports) =>
      reuseFirst(create(...ports), (call, first) => {
        call.country = first.country
      }),

  clientHashStage: (stage: Stage): Stage =>
    reuseFirst(stage, (call, first) => {
      call.clientHash = first.clientHash
    }),

  addressGuardStage:
    (create: typeof addressGuardStage): typeof addressGuardStage =>
    (...ports) =>
      reuseFirst(create(...ports), () => undefined),

  limitsStage:
    (create: typeof limitsStage): typeof limitsStage =>
    (...ports) =>
      reuseFirst(create(...ports), (call, first) => {
        call.limit = first.limit
      }),

  authenticateStage:
    (create: typeof authenticateStage): typeof authenticateStage =>
    (...ports) =>
      reuseFirst(create(...ports), (call, first) => {
        call.caller = first.caller
      }),

  workspaceStage:
    (create: typeof workspaceStage): typeof workspaceStage =>
    (...ports) =>
      reuseFirst(create(...ports), (call, first) => {
        call.workspace = first.workspace
      }),

  permissionStage:
    (_create: typeof permissionStage): typeof permissionStage =>
    () =>
    () =>
      undefined,

  validateStage:
    (create: typeof validateStage): typeof validateStage =>
    (...ports) =>
      reuseFirst(create(...ports), (call, first) => {
        call.input = first.input
      }),

  /** Every upstream gets the first assertion again. */
  createAssertionCache:
    (create: typeof createAssertionCache): typeof createAssertionCache =>
    (...ports) => {
      const assertionOf = create(...ports)
      let first: MaybePromise<string> | null = null
      return (call) => {
        first ??= thenSync(assertionOf(call), (assertion) => {
          first = assertion
          return assertion
        })
        return first
      }
    },

  /** Serializes the reply without its schema. */
  replyText:
    (_replyText: typeof replyText): typeof replyText =>
    (_schema, reply) =>
      JSON.stringify(reply) ?? 'null',

  buildSecurityHeaders:
    (_build: typeof buildSecurityHeaders): typeof buildSecurityHeaders =>
    () => ({}),

  createRequestLog:
    (_create: typeof createRequestLog): typeof createRequestLog =>
    () =>
    () =>
      undefined,
}
