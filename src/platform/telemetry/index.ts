/**
 * Logs and metrics. logger.ts writes JSON lines through pino, in batches, to log-sink.ts. The *-metrics.ts files declare
 * Prometheus metrics; request-metrics.ts creates the registry that the others are added to.
 */

export { createApprovalMetrics } from './approval-metrics.ts'
export {
  createBackgroundMetrics,
  createJobMetrics,
  createLedgerMetrics,
  createQueueMetrics,
} from './background-metrics.ts'
export { createLogger } from './logger.ts'
export { createPerimeterMetrics, type PerimeterMetrics } from './perimeter-metrics.ts'
export { createBatchedHistogram, createMetrics, type Metrics } from './request-metrics.ts'
