/**
 * The perimeter: everything between a socket and a backend. It knows the kernel and its own ports, and no domain.
 *
 * - `http/` turns sockets into requests and results into responses. Start with request-handler.ts.
 * - `pipeline/` holds the `Call`, the router and the stages that decide on it. app.ts puts the stages in order.
 * - `observability/` records what happened: request log, explain, traces.
 * - `operations/` is the operations listener and the public reference pages.
 */
export { createErrorHandler } from './http/error-handler.ts'
export { closeListener } from './http/graceful-shutdown.ts'
export { createParseErrorLog, type ParseError } from './http/parse-errors.ts'
export { createRequestHandler } from './http/request-handler.ts'
export { createResponseWriter } from './http/response-writer.ts'
export { buildSecurityHeaders } from './http/security-headers.ts'
export { createHttpServer } from './http/server.ts'
export { createExplainLog } from './observability/explain.ts'
export { createPageLog } from './observability/page-log.ts'
export { createRequestLog, type FinishedRequest } from './observability/request-log.ts'
export { createOperationsApp } from './operations/operations-app.ts'
export { createReferencePages } from './operations/reference-pages.ts'
export { type AccessCache, createAccessCache, invalidateAccess } from './pipeline/access-cache.ts'
export type { Stage } from './pipeline/call.ts'
export { createRouter } from './pipeline/router.ts'
export * from './pipeline/stages/index.ts'
export { createClientResolver } from './pipeline/trusted-proxies.ts'
/** Tracing, loaded only where it is enabled: start-up is faster without it. */
export const loadTracing = () => import('./observability/tracing.ts')
export type Tracing = Awaited<ReturnType<typeof loadTracing>>
