/**
 * Everything between a socket and a backend. The gateway depends on the kernel and its own ports (pipeline/ports.ts)
 * and imports no domain. Start reading with http/request-handler.ts, then pipeline/call.ts; app.ts lists the stages in
 * order.
 *
 * - `http/` converts requests and responses.
 * - `pipeline/` contains the `Call`, the router, and the stages.
 * - `observability/` contains the request log, explain and traces.
 * - `observations/` contains the operations that show them to operators.
 * - `sockets/` relays WebSockets.
 * - `site/` serves the front ends of the portals.
 * - `operations/` contains the operations listener and the public reference pages.
 */
export { createCors } from './http/cors.ts'
export { createErrorHandler } from './http/error-handler.ts'
export { closeListener } from './http/graceful-shutdown.ts'
export { createParseErrorLog, type ParseError } from './http/parse-errors.ts'
export { createRequestHandler } from './http/request-handler.ts'
export { createResponseWriter } from './http/response-writer.ts'
export { buildSecurityHeaders } from './http/security-headers.ts'
export { createHttpServer } from './http/server.ts'
export { createExplainLog, type ExplainLog } from './observability/explain.ts'
export { createReactionLog, type ReactionRun } from './observability/reactions.ts'
export {
  createPageLog,
  createRequestLog,
  createSocketLog,
  type FinishedRequest,
  type LogSettings,
} from './observability/request-log.ts'
export { createTraffic, type Traffic } from './observability/traffic.ts'
export { type ObservedQueue, observationHandlers, questions } from './observations/handlers.ts'
export { RequestFilter, selectRequests } from './observations/requests.ts'
export type { DemoSignIn } from './operations/demo-sign-in.ts'
export { createOperationsApp } from './operations/operations-app.ts'
export type { Probe } from './operations/probes.ts'
export { createProviderPages, type ProviderPages } from './operations/provider-pages.ts'
export { createReferencePages, type PageOptions } from './operations/reference-pages.ts'
export { gatherStatus, readReplicaStatus, readSharedStatus, statusQuestion } from './operations/status.ts'
export { Status } from './operations/status-schema.ts'
export { createWorkersServer } from './operations/workers/workers-app.ts'
export { type AccessCache, createAccessCache, invalidateAccess } from './pipeline/access-cache.ts'
export type { Stage } from './pipeline/call.ts'
export { createClientResolver } from './pipeline/client-address.ts'
export { createCertificateReader } from './pipeline/client-certificate.ts'
export { OpenStreams } from './pipeline/open-streams.ts'
export { type AllowedOrigins, createAllowedOrigins, publicUrlsOf } from './pipeline/origins.ts'
export { type AdditionalPortal, createRouter, type PrefixRoute } from './pipeline/router.ts'
export { createSessionCookies, type SessionCookies } from './pipeline/session-cookie.ts'
export * from './pipeline/stages/index.ts'
export { appFolderOf, appNameOf, appUrls } from './site/apps.ts'
export { createSiteHandler, openSites, type Sites, withSiteSockets } from './site/index.ts'
export type { ClosedSocket } from './sockets/relay.ts'
export { relaySocketsStage } from './sockets/relay-stage.ts'

export type Tracing = typeof import('./observability/tracing.ts')
/** Call this only if tracing is enabled, because loading takes time. */
export function loadTracing(): Promise<Tracing> {
  return import('./observability/tracing.ts')
}
