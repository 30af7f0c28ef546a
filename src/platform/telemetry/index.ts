/**
 * Logs and metrics. Start with logger.ts, which writes JSON lines through pino, in batches, to log-sink.ts.
 * pretty-line.ts formats them for a terminal. The *-metrics.ts files declare Prometheus metrics; request-metrics.ts
 * creates their registry. Depends on the kernel and platform/runtime.
 */

export { createApiKeyMetrics } from './api-key-metrics.ts'
export { createApprovalMetrics } from './approval-metrics.ts'
export {
  createAuditExportMetrics,
  createBackgroundMetrics,
  createJobMetrics,
  createLedgerMetrics,
  createQueueMetrics,
  createRejectionReport,
  inOperation,
} from './background-metrics.ts'
export { createEventMetrics } from './event-metrics.ts'
export { createExchangeMetrics } from './exchange-metrics.ts'
export { createLogger, writeLines } from './logger.ts'
export { createPerimeterMetrics, type PerimeterMetrics } from './perimeter-metrics.ts'
export {
  type BlobMetrics,
  createBlobMetrics,
  createBuildMetrics,
  createClockMetrics,
  createDiskMetrics,
  createMailMetrics,
  createPoolMetrics,
  createReadinessMetrics,
  createRedisMetrics,
  type MailMetrics,
  type RedisMemory,
} from './replica-metrics.ts'
export { createBatchedHistogram, createMetrics, type Exemplars, type Metrics } from './request-metrics.ts'
export { createSocketMetrics, createStreamMetrics, createTrafficMetrics } from './stream-metrics.ts'
export { createWebhookMetrics } from './webhook-metrics.ts'
