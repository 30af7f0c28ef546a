import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express'
import { type Backends, type TrialStagePorts, trialStage } from './backends/index.ts'
import type { Configuration } from './config/index.ts'
import {
  type AccessCache,
  type AllowedOrigins,
  type AssertOffered,
  accessCodeStage,
  addressGuardStage,
  authenticateStage,
  bodyStage,
  type ClosedSocket,
  checkCallerBy,
  clientHashStage,
  createCertificateReader,
  createClientResolver,
  createSiteLimit,
  createUncountedLimit,
  dispatchStage,
  edgeStage,
  findStepUpBy,
  idempotencyStage,
  invalidateAccess,
  keyProofStage,
  type LimitUncounted,
  limitsStage,
  type OpenStreams,
  permissionStage,
  publicUrlsOf,
  type RecordedCommands,
  reauthorizeAfter,
  recordCommandsStage,
  relayEventsStage,
  relaySocketsStage,
  requiredHeadersStage,
  type SessionCookies,
  type Stage,
  secureChannelStage,
  skipCheck,
  skipReauthorization,
  spendStepUpBy,
  stepUpStage,
  type Tracing,
  transferLimitStage,
  validateStage,
  workspaceStage,
} from './gateway/index.ts'
import type { AuthenticationPort, ChannelPort, LimitPort, StepUpPort } from './gateway/pipeline/ports.ts'
import type { Durations } from './kernel/index.ts'

export interface PipelineParts {
  settings: Configuration
  assertOffered: AssertOffered
  limits: LimitPort
  channel: ChannelPort
  authentication: AuthenticationPort
  stepUps: StepUpPort
  access: AccessCache
  backends: Pick<Backends, 'backendOf' | 'trialOf'>
  recorded: RecordedCommands
  trials: Omit<TrialStagePorts, 'trialOf'>
  streams: OpenStreams
  cookies: SessionCookies
  origins: AllowedOrigins
  durations: Durations
  onSocketClosed(closed: ClosedSocket): void
  onTransferRefused(): void
  payoutHold: Stage
  /** Null if disabled. */
  tracing: Tracing | null
}

/** The stages in order. Explain reports show the keys. */
export type Pipeline = Record<string, Stage>

/** Every stage in order (docs/decisions/0002). */
export function gatewayPipeline(parts: PipelineParts): Pipeline {
  const { settings, limits, channel, authentication, stepUps, access, backends, streams, durations, tracing } = parts
  const { cookies, origins } = parts
  const resolveClient = createClientResolver(settings.portals)
  const baseUrlsOf = publicUrlsOf(settings)
  const authenticationParts = {
    authentication,
    cookies,
    origins,
    resolveClient,
    baseUrlsOf,
    readCertificate: createCertificateReader(settings.portals),
    assertOffered: parts.assertOffered,
  }
  const authenticate = authenticateStage(authenticationParts)
  const workspace = workspaceStage(access)
  const permission = permissionStage(settings.mfa)
  const reauthorize = reauthorizeAfter([authenticate, workspace, permission], settings.access.leaseMs, durations)
  const checkCaller = checkCallerBy([authenticate, workspace, permission])
  const { maxBufferedBytes } = settings.streams
  const { binding, stepUpMs } = settings.mfa
  const findStepUp =
    binding === 'purpose'
      ? spendStepUpBy(stepUps)
      : findStepUpBy(authenticateStage(authenticationParts, 'store'), stepUpMs)
  const dispatch = trialStage({ ...parts.trials, trialOf: backends.trialOf }, dispatchStage(backends.backendOf))
  const serve = recordCommandsStage(parts.recorded, dispatch)
  const relayEvents = relayEventsStage({ streams, checkCaller, maxBufferedBytes, durations }, serve)
  const relaySockets = relaySocketsStage(
    { streams, checkCaller, durations, onClosed: parts.onSocketClosed },
    relayEvents,
  )
  const pipeline = {
    edge: edgeStage(resolveClient),
    ...(tracing && { trace: tracing.traceStage(({ edgeTrusted }) => edgeTrusted) }),
    portalAccessCode: accessCodeStage(settings.portals, resolveClient, parts.assertOffered),
    addressGuard: addressGuardStage(limits, settings),
    requiredHeaders: requiredHeadersStage(settings, origins),
    clientHash: clientHashStage,
    authenticate,
    workspace,
    permission,
    limits: limitsStage(limits, settings),
    keyProof: keyProofStage(authentication, baseUrlsOf),
    payoutHold: parts.payoutHold,
    transferLimit: transferLimitStage({
      settings: settings.requests,
      addressKey: limits.addressKey,
      onRefused: parts.onTransferRefused,
    }),
    body: bodyStage(settings.requests, reauthorize),
    secureChannel: secureChannelStage(channel, settings),
    validate: validateStage(settings),
    idempotency: idempotencyStage,
    stepUp: stepUpStage(findStepUp, binding),
    serve: invalidateAccess(access, relaySockets),
  }
  return tracing ? mapStages(pipeline, tracing.withSpan) : pipeline
}

/** For requests that match no operation, and calls that are refused before the stage `limits`. */
export function uncountedLimit({ settings, limits }: Pick<PipelineParts, 'settings' | 'limits'>): LimitUncounted {
  return createUncountedLimit(limits, settings, createClientResolver(settings.portals))
}

/** For files of a portal's site. */
export function siteLimit({ settings, limits }: Pick<PipelineParts, 'settings' | 'limits'>) {
  return createSiteLimit(limits, settings, createClientResolver(settings.portals))
}

export interface ServicePipelineParts extends Pick<PipelineParts, 'settings' | 'tracing' | 'streams' | 'durations'> {
  backends: Pick<Backends, 'backendOf'>
  callAssertion: Stage
}

/** A domain service verifies the gateway's call assertion and validates the input again. */
export function servicePipeline(parts: ServicePipelineParts): Pipeline {
  const { settings, backends, tracing, callAssertion, streams, durations } = parts
  const { maxBufferedBytes } = settings.streams
  const dispatch = relayEventsStage(
    { streams, checkCaller: skipCheck, maxBufferedBytes, durations },
    dispatchStage(backends.backendOf),
  )
  const pipeline = {
    assertedCall: callAssertion,
    ...(tracing && { trace: tracing.traceStage(() => true) }),
    // A call assertion names no operation: an assertion for a read must not authorize a command. The gateway checks the
    // age of the step-up. Here, the second factor only has to exist.
    permission: permissionStage({ stepUpMs: Number.POSITIVE_INFINITY, binding: 'session' }),
    body: bodyStage(settings.requests, skipReauthorization),
    validate: validateStage(settings),
    idempotency: idempotencyStage,
    serve: dispatch,
  }
  return tracing ? mapStages(pipeline, tracing.withSpan) : pipeline
}

export interface AppHandlers {
  /** Passes other paths on to the pages. */
  chains: RequestHandler
  pageLog: RequestHandler
  /** Callbacks and logout tokens of identity providers. Null in a domain service. */
  providers: RequestHandler | null
  /** Null in a domain service. */
  pages: RequestHandler | null
  /** Null in a domain service. */
  sites: RequestHandler | null
  notFoundHandler: RequestHandler
  errorHandler: ErrorRequestHandler
}

export function createApp({
  chains,
  pageLog,
  providers,
  pages,
  sites,
  notFoundHandler,
  errorHandler,
}: AppHandlers): Express {
  const app = express()
  app.disable('x-powered-by').disable('etag')
  app.use(chains)
  app.use(pageLog)
  if (providers) app.use(providers)
  if (pages) app.use(pages)
  if (sites) app.use(sites)
  app.use(notFoundHandler)
  app.use(errorHandler)
  return app
}

function mapStages(pipeline: Pipeline, map: (stage: Stage) => Stage): Pipeline {
  return Object.fromEntries(Object.entries(pipeline).map(([name, stage]) => [name, map(stage)]))
}
