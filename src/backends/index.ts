/**
 * Everything behind the gateway: handlers in this process, or an HTTP service (`upstream/`). The gateway signs a call
 * assertion for each upstream call (call-assertion.ts); a domain service verifies it (call-assertion-stage.ts). Start
 * reading with routes.ts. `trial/` has the services that a domain tries before it moves.
 */
export type { Backend } from './backend.ts'
export { AssertionClaims, type ForwardedCaller, toClaims } from './call-assertion.ts'
export { callAssertionStage } from './call-assertion-stage.ts'
export { HandlerEvents } from './event-bytes.ts'
export { HandlerDeadline } from './handler-deadline.ts'
export { internalError } from './internal-error.ts'
export { replyText } from './reply-text.ts'
export { type Backends, createBackends } from './routes.ts'
export type { CanaryReturn } from './trial/canary.ts'
export { copyToShadow } from './trial/copies.ts'
export { createTrialMetrics } from './trial/metrics.ts'
export { type TrialStagePorts, trialStage } from './trial/stage.ts'
export { TrialBook } from './trial/trial-book.ts'
export type { TrialState } from './trial/trials.ts'
export { createUpstreamMetrics } from './upstream/metrics.ts'
