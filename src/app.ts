import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express'
import type { Backends } from './backends/index.ts'
import type { Configuration } from './config/index.ts'
import {
  type AccessCache,
  accessCodeStage,
  addressLimitStage,
  authenticateStage,
  bodyStage,
  callerLimitStage,
  clientHashStage,
  createAddressSpender,
  createClientResolver,
  createUnmatchedLimit,
  dispatchStage,
  edgeStage,
  idempotencyStage,
  invalidateAccess,
  type LimitUnmatched,
  permissionStage,
  reauthorizeAfter,
  requiredHeadersStage,
  type Stage,
  secureChannelStage,
  skipReauthorization,
  type Tracing,
  validateStage,
  workspaceStage,
} from './gateway/index.ts'
import type { AuthenticationPort, ChannelPort, LimitPort } from './gateway/pipeline/ports.ts'

export interface PipelineParts {
  settings: Configuration
  limits: LimitPort
  channel: ChannelPort
  authentication: AuthenticationPort
  access: AccessCache
  backends: Backends
  /** Null if tracing is disabled. */
  tracing: Tracing | null
}

/** The stages in order. The keys are the names in the reports of explain. */
export type Pipeline = Record<string, Stage>

/** Returns the gateway's pipeline: every stage in order (docs/decisions/0002). */
export function gatewayPipeline(parts: PipelineParts): Pipeline {
  const { settings, limits, channel, authentication, access, backends, tracing } = parts
  const resolveClient = createClientResolver(settings.portals)
  const authenticate = authenticateStage(authentication, resolveClient)
  const workspace = workspaceStage(access)
  const permission = permissionStage(settings.mfa)
  const reauthorize = reauthorizeAfter([authenticate, workspace, permission], settings.access.leaseMs)
  const dispatch = invalidateAccess(access, dispatchStage(backends.backendOf))
  return {
    edge: edgeStage(resolveClient),
    ...(tracing && { trace: tracing.traceStage(({ edgeTrusted }) => edgeTrusted) }),
    portalAccessCode: accessCodeStage(settings.portals, resolveClient, createAddressSpender(limits, settings)),
    addressLimit: addressLimitStage(limits, settings),
    requiredHeaders: requiredHeadersStage(settings.portals),
    clientHash: clientHashStage,
    authenticate,
    workspace,
    permission,
    callerLimit: callerLimitStage(limits, settings),
    body: bodyStage(settings.requests, reauthorize),
    secureChannel: secureChannelStage(channel, settings),
    validate: validateStage(settings),
    idempotency: idempotencyStage,
    serve: tracing ? tracing.withSpan(dispatch) : dispatch,
  }
}

/** Returns the limit of requests that match no operation and never enter the pipeline. */
export const unmatchedLimit = ({ settings, limits }: Pick<PipelineParts, 'settings' | 'limits'>): LimitUnmatched =>
  createUnmatchedLimit(createClientResolver(settings.portals), createAddressSpender(limits, settings))

export interface ServicePipelineParts extends Pick<PipelineParts, 'settings' | 'backends' | 'tracing'> {
  callAssertion: Stage
}

/** Returns the pipeline of a domain service: it verifies the gateway's call assertion and validates the input again. */
export function servicePipeline({ settings, backends, tracing, callAssertion }: ServicePipelineParts): Pipeline {
  const dispatch = dispatchStage(backends.backendOf)
  return {
    assertedCall: callAssertion,
    ...(tracing && { trace: tracing.traceStage(() => true) }),
    // A call assertion names no operation. Check the permission again, because an assertion for a read must not
    // authorize a command. The gateway checks how recent the second factor is; here it only has to exist.
    permission: permissionStage({ stepUpMs: Number.POSITIVE_INFINITY }),
    body: bodyStage(settings.requests, skipReauthorization),
    validate: validateStage(settings),
    idempotency: idempotencyStage,
    serve: tracing ? tracing.withSpan(dispatch) : dispatch,
  }
}

export interface AppHandlers {
  /** Handles the chains; passes every other path on to the pages. */
  chains: RequestHandler
  pageLog: RequestHandler
  /** The public reference pages. Null in a domain service. */
  pages: RequestHandler | null
  notFoundHandler: RequestHandler
  /** Handles errors that no other handler caught. */
  errorHandler: ErrorRequestHandler
}

/**
 * Returns the Express app. It runs the chains, then the public pages with their log, then the 404 handler and the error
 * handler.
 */
export function createApp({ chains, pageLog, pages, notFoundHandler, errorHandler }: AppHandlers): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag')
  app.use(chains)
  app.use(pageLog)
  if (pages) app.use(pages)
  app.use(notFoundHandler)
  app.use(errorHandler)
  return app
}
