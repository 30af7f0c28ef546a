/**
 * Everything behind the gateway. A `Backend` (backend.ts) serves the operations of a domain. It calls handlers in this
 * process, or sends requests to an HTTP service (`upstream/`). routes.ts chooses by configuration. The gateway signs a
 * call assertion for each upstream call (call-assertion.ts); a domain service verifies it (call-assertion-stage.ts).
 * Start reading with routes.ts.
 */
export type { Backend } from './backend.ts'
export { callAssertionStage } from './call-assertion-stage.ts'
export { type Backends, createBackends } from './routes.ts'
export { createUpstreamMetrics } from './upstream/metrics.ts'
