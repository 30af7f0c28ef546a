import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express'
import type { Backends } from './backends/index.ts'
import type { Configuration } from './config/index.ts'
import {
  type AccessMemory,
  createEdgeView,
  type Stage,
  stages,
  type Tracing,
  type UnmatchedLimit,
} from './gateway/index.ts'
import type { AuthenticationPort, ChannelPort, LimitPort } from './gateway/ports.ts'

export interface Parts {
  settings: Configuration
  limits: LimitPort
  channel: ChannelPort
  authentication: AuthenticationPort
  access: AccessMemory
  backends: Backends
  /** Null where nothing is traced. */
  tracing: Tracing | null
}

/** Stages in their order, under the names by which they are explained. */
export type Way = Record<string, Stage>

/** The way of a request: every stage in its order (design.md section 3, docs/decisions/0002). */
export const pipeline = ({ settings, limits, channel, authentication, access, backends, tracing }: Parts): Way => {
  const edgeView = createEdgeView(settings.portals)
  const serve = stages.forgettingRights(access, stages.serve(backends.backendOf))
  const authenticate = stages.authenticate(authentication, edgeView)
  const workspace = stages.workspace(access)
  const permission = stages.permission(settings.mfa)
  const judgedAgain = stages.judgedAgain([authenticate, workspace, permission], settings.access.leaseMs)
  return {
    edge: stages.edge(edgeView),
    ...(tracing && { trace: tracing.beginSpan(({ edgeTrusted }) => edgeTrusted) }),
    portalAccessCode: stages.portalAccessCode(settings.portals, edgeView, stages.addressSpender(limits, settings)),
    addressLimit: stages.addressLimit(limits, settings),
    requiredHeaders: stages.requiredHeaders(settings.portals),
    clientHash: stages.clientHash,
    authenticate,
    workspace,
    permission,
    callerLimit: stages.callerLimit(limits, settings),
    body: stages.body(settings.requests, judgedAgain),
    secureChannel: stages.secureChannel(channel, settings),
    validate: stages.validate(settings),
    idempotency: stages.idempotency,
    serve: tracing ? tracing.insideSpan(serve) : serve,
  }
}

/** Limits requests that match no operation, which never enter the pipeline. */
export const unmatchedLimit = ({ settings, limits }: Pick<Parts, 'settings' | 'limits'>): UnmatchedLimit =>
  stages.unmatchedLimit(createEdgeView(settings.portals), stages.addressSpender(limits, settings))

/** A domain service has the gateway's word for the caller; it checks that word, and the input once more. */
export const servicePipeline = (
  parts: Pick<Parts, 'settings' | 'backends' | 'tracing'> & { assertedCall: Stage },
): Way => {
  const { tracing } = parts
  const serve = stages.serve(parts.backends.backendOf)
  return {
    assertedCall: parts.assertedCall,
    ...(tracing && { trace: tracing.beginSpan(() => true) }),
    // An assertion names no operation: one that was made for reading must not do for a command. How fresh a second
    // factor has to be is for the gateway to know; here it only has to be there.
    permission: stages.permission({ stepUpMs: Number.POSITIVE_INFINITY }),
    body: stages.body(parts.settings.requests, stages.judgedBefore),
    validate: stages.validate(parts.settings),
    idempotency: stages.idempotency,
    serve: tracing ? tracing.insideSpan(serve) : serve,
  }
}

export interface Doors {
  /** The chains; every other path goes on to the pages. */
  chains: RequestHandler
  pageLog: RequestHandler
  /** The public pages; a domain service has none. */
  pages: RequestHandler | null
  nowhere: RequestHandler
  /** For what no door foresaw. */
  fault: ErrorRequestHandler
}

/** The Express app: the chains, the few public pages with their log, nothing else, the error door. */
export const createApp = ({ chains, pageLog, pages, nowhere, fault }: Doors): Express => {
  const app = express()
  app.disable('x-powered-by').disable('etag')
  app.use(chains)
  app.use(pageLog)
  if (pages) app.use(pages)
  app.use(nowhere)
  app.use(fault)
  return app
}
