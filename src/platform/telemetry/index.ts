export { createBookMetrics } from './book.ts'
export { createLogger } from './logger.ts'
export { createMetrics, type Metrics } from './metrics.ts'
export { createPerimeterMetrics, type PerimeterMetrics } from './perimeter.ts'
