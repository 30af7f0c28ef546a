export { createLogger } from './logger.ts'
export { createMetrics, type Metrics } from './metrics.ts'
