import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express'
import type { Backends } from './backends/index.ts'
import type { Configuration } from './config/index.ts'
import { type AccessMemory, type Stage, stages } from './gateway/index.ts'
import type { AuthenticationPort, ChannelPort, LimitPort } from './gateway/ports.ts'

export interface Parts {
  settings: Configuration
  limits: LimitPort
  channel: ChannelPort
  authentication: AuthenticationPort
  access: AccessMemory
  backends: Backends
}

/** The way of a request: every stage in its order (design.md section 3, docs/decisions/0002). */
export const pipeline = (parts: Parts): Stage[] => [
  stages.edge(parts.settings.portals),
  stages.portalAccessCode(parts.settings.portals),
  stages.addressLimit(parts.limits, parts.settings.limits),
  stages.requiredHeaders(parts.settings.portals),
  stages.clientHash,
  stages.authenticate(parts.authentication),
  stages.workspace(parts.access),
  stages.permission(parts.settings.mfa),
  stages.callerLimit(parts.limits, parts.settings.limits),
  stages.body(parts.settings.requests),
  stages.secureChannel(parts.channel, parts.settings),
  stages.validate(parts.settings),
  stages.idempotency,
  stages.forgettingRights(parts.access, stages.serve(parts.backends.backendOf)),
]

/** A domain service has the gateway's word for the caller; it checks that word, and the input once more. */
export const servicePipeline = (parts: Pick<Parts, 'settings' | 'backends'> & { assertedCall: Stage }): Stage[] => [
  parts.assertedCall,
  stages.body(parts.settings.requests),
  stages.validate(parts.settings),
  stages.idempotency,
  stages.serve(parts.backends.backendOf),
]

export interface Doors {
  /** The chains; every other path goes on to the pages. */
  chains: RequestHandler
  pageLog: RequestHandler
  pages: RequestHandler[]
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
  for (const page of pages) app.use(page)
  app.use(nowhere)
  app.use(fault)
  return app
}
