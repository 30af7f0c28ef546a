/**
 * What is behind the gateway. A `Backend` (backend.ts) serves the operations of a domain, by calling handlers in this
 * process or through `upstream/`, which sends them to an HTTP service. routes.ts chooses between them by configuration.
 * The gateway signs a call assertion for each upstream call (call-assertion.ts); a domain service verifies it
 * (call-assertion-stage.ts). Start reading with routes.ts.
 */
export type { Backend } from './backend.ts'
export { callAssertionStage } from './call-assertion-stage.ts'
export { type Backends, createBackends } from './routes.ts'
export { createUpstreamMetrics } from './upstream/metrics.ts'
