import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Context, Span } from '@opentelemetry/api'
import {
  type Caller,
  type Chain,
  type ChainId,
  type ExceededLimit,
  fallbackLocale,
  type HookRun,
  type Idempotency,
  type Instant,
  type Locale,
  type MaybePromise,
  type Operation,
  type Portal,
  Refusal,
  type SocketReply,
  type StreamReply,
  type Upload,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import type { KeyProof } from '../../platform/proofs/index.ts'
import type { Handshake } from '../sockets/handshake.ts'
import { type Headers, readIdempotencyKey } from './headers.ts'
import type { OpenedChannel, Ticket } from './ports.ts'

/** Throws unless a stage has determined the portal: no default may stand for it. */
export function portalOfCall({ portal }: Pick<Call, 'portal'>): Portal {
  if (portal === null) throw new Refusal('SYSTEM.INTERNAL_ERROR', { internal: 'the portal of the call is unknown' })
  return portal
}

/** The connection to the client. */
export interface Client {
  /** Whether nobody waits for the response any more. */
  readonly isGone: boolean
  /** Aborts with `clientDisconnected`. */
  readonly signal: AbortSignal
  /** Like a listener of `signal`, which costs each request 1.3 KB. */
  onGone(listener: () => void): void
  offGone(listener: () => void): void
}

export function clientDisconnected(cause?: unknown): Refusal {
  return new Refusal('REQUEST.MALFORMED', { internal: 'client disconnected', cause })
}

/** A command runs on when its client disconnects, because it may already have taken effect. */
export function isCommand({ method }: Pick<Call, 'method'>): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

export interface IncomingRequest {
  operation: Operation
  chainId: ChainId
  chain: Chain
  /** Percent-decoded. */
  params: Record<string, string>
  below?: BelowPrefix | null
  method: string
  /** Always canonical, because other paths match no operation. */
  path: string
  /** The text after the question mark. */
  query: string
  headers: Headers
  peer: string
  client: Client
  body: Readable
  receivedAt: Instant
  requestId: string
  handshake: Handshake | null
}

/**
 * A stream ends as `slow` if its client does not read, as `unavailable` if its caller could not be checked, and as `rights`
 * if the caller's permissions have changed, because the sender selects events by the permissions at the start.
 */
export type StreamEnd =
  | 'client'
  | 'service'
  | 'idle'
  | 'lifetime'
  | 'slow'
  | 'revoked'
  | 'rights'
  | 'unavailable'
  | 'shutdown'

export interface AcceptedSocket {
  /** Accepts the client's handshake and relays the socket. `head` are the bytes that the client has already sent. */
  start(handshake: Handshake, client: Socket, head: Buffer): void
  close(reason: StreamEnd): void
  /** Ends a socket that has not started. */
  release(): void
}

export interface BelowPrefix {
  prefix: string
  /** Empty, or starts with a slash. */
  rest: string
  /** Headers to forward and relay in addition to those of every raw operation. */
  requestHeaders: readonly string[]
  responseHeaders: readonly string[]
  /** Host and port of `publicUrl`. */
  publicHost: string
}

export interface CallTrace {
  /** Of the request. */
  span: Span
  /** For work whose spans nest below it. */
  context: Context
  /** Null without an SDK and a traceparent. */
  traceId: string | null
  /** Of the current attempt at a service, or of the request. */
  traceparent: string | null
  tracestate: string | null
}

export interface UpstreamUse {
  url: string
  attempts: number
  /** Of all attempts. Of a stream, until its head. */
  ms: number
  /** Of the last response. */
  status: number | null
}

/**
 * Why a canary or the backend served a request. `named` and `share`: the settings select the canary, or not. `no key`: the
 * request has neither a workspace nor an account. `returned`: too many requests at the canary failed. `same key`: a command
 * with this idempotency key was sent there before. `none`: the domain has no canary.
 */
export type TrialRule = 'none' | 'named' | 'share' | 'no key' | 'returned' | 'same key'

/** `skipped`: too many copies waited. `failed`: the shadow did not reply. */
export type ShadowVerdict = 'pending' | 'equal' | 'different' | 'failed' | 'skipped'

/** How a request passed a backend that has a shadow or a canary. */
export interface TrialUse {
  servedBy: 'backend' | 'canary'
  rule: TrialRule
  /** Null if no copy was sent. Changes after the response. */
  shadow: ShadowVerdict | null
}

/**
 * The elements are doubles: storing the first time in an array of small integers would convert it, which costs more
 * than reading the clock.
 */
const initialStageEnds: readonly number[] = new Array<number>(20).fill(Number.NEGATIVE_INFINITY)

/** The comment on a property names the stage that sets it; only later stages read it (app.ts). */
export class Call implements IncomingRequest {
  readonly operation: Operation
  readonly chainId: ChainId
  readonly chain: Chain
  /** The `validate` stage replaces these values with those that the schemas return. */
  params: Record<string, string>
  readonly below: BelowPrefix | null
  readonly method: string
  readonly path: string
  /** The `portalAccessCode` stage removes the ticket. */
  query: string
  readonly headers: Headers
  readonly peer: string
  readonly client: Client
  readonly body: Readable
  readonly receivedAt: Instant
  /** The request's name in logs. An intermediary may have replaced the client's. */
  readonly requestId: string
  /** The value of the header, for an idempotent operation. */
  readonly idempotencyKey: string | null
  readonly handshake: Handshake | null

  /**
   * Whether the peer is a trusted proxy. Set by the `edge` stage, and again by the stage that determines the portal.
   */
  edgeTrusted = false
  clientIp = ''
  country = 'XX'
  userAgent = ''
  /** Set by the `portalAccessCode` stage, or by `authenticate` on the self chain. */
  portal: Portal | null = null
  /** Set by the `portalAccessCode` stage. */
  ticket: Ticket | null = null
  locale: Locale = fallbackLocale
  /** Set by the `clientHash` stage. */
  clientHash = ''
  /** Set by the `keyProof` stage. */
  keyProof: KeyProof | undefined = undefined
  /** Whether the limits of the address have counted this call. */
  isCounted = false
  /** The limit with the fewest remaining requests, of those that have counted this call. */
  limit: (ExceededLimit & { remaining: number }) | null = null
  /** Set by `transferLimit`. Called once the response has been sent or has failed. */
  onFinished: (() => void) | null = null
  /** Set by the `body` stage: the parsed JSON, or undefined without a body. */
  payload: unknown = undefined
  upload: Upload | null = null
  /** Set by the `secureChannel` stage. */
  channel: OpenedChannel | null = null
  sealReply: ((text: string) => string) | null = null
  /** Set by the `authenticate` stage. */
  caller: Caller | null = null
  /** Whether the browser's session cookie authenticates the call. Set by the `authenticate` stage. */
  hasSessionCookie = false
  /** Set by dispatch: the new value of the cookie, null to delete it, or undefined to keep it. */
  sessionCookie: string | null | undefined = undefined
  /** Set by the `stepUp` stage: when the step-up that this call has spent was verified. */
  steppedUpAt: Instant | null = null
  /** Set by the `stepUp` stage: why there is no step-up. Only operators see it. */
  missingStepUp: string | null = null
  /** Set by the `workspace` stage, or by `authenticate` for an API key. */
  workspace: WorkspaceAccess | null = null
  /** Set by the `validate` stage. */
  input: { query: unknown; body: unknown } = { query: {}, body: null }
  /** Set by the `idempotency` stage. */
  idempotency: Idempotency | null = null
  /** Set by dispatch: JSON text, a stream, or the service's side of a WebSocket. */
  reply: string | StreamReply | SocketReply = 'null'
  /** Filled by the handler. Null if the operation has no hooks. */
  readonly hookRuns: HookRun[] | null
  /** Set by dispatch: whether the total of a list is an estimate. */
  isTotalEstimated = false
  /** Set by recordCommands: whether the audit log has the refusal. */
  isRefusalRecorded = false
  /** Set by dispatch. */
  relay: AcceptedSocket | null = null
  /** Tells the stages that they are checking the caller again. */
  isStreamOpen = false
  streamEnd: StreamEnd | null = null
  trace: CallTrace | null = null
  /** Set by the backend. Null if no service was called. */
  upstream: UpstreamUse | null = null
  /** Set by the stage `serve` if the backend has a shadow or a canary. */
  trial: TrialUse | null = null
  /** True for HEAD. The gateway forwards this to a domain service. */
  headOnly: boolean

  /** The number of stages once all have passed. */
  stageIndex = 0
  /** Times from performance.now(). Negative infinity for synchronous stages. */
  readonly stageEnds: number[] = initialStageEnds.slice()

  constructor(request: IncomingRequest) {
    this.operation = request.operation
    this.chainId = request.chainId
    this.chain = request.chain
    this.params = request.params
    this.below = request.below ?? null
    this.method = request.method
    this.path = request.path
    this.query = request.query
    this.headers = request.headers
    this.peer = request.peer
    this.client = request.client
    this.body = request.body
    this.receivedAt = request.receivedAt
    this.requestId = request.requestId
    this.idempotencyKey = request.operation.policy.idempotent ? readIdempotencyKey(request.headers) : null
    this.handshake = request.handshake
    this.hookRuns = request.operation.before ? [] : null
    this.headOnly = request.method === 'HEAD'
  }
}

/** Records the status of a service's response. */
export function receiveStatus({ upstream }: Call, status = 0): void {
  if (upstream) upstream.status = status
}

/** A stage reads the policy, sets properties of the call, or throws a Refusal. */
export type Stage = (call: Call) => MaybePromise<void>

export async function runStages(stages: readonly Stage[], call: Call): Promise<void> {
  try {
    for (const stage of stages) {
      const pending = stage(call)
      if (pending) {
        // Synchronous stages are not timed: reading the clock costs more than most of them.
        await pending
        call.stageEnds[call.stageIndex] = performance.now()
      }
      call.stageIndex += 1
    }
  } finally {
    // Node emits no end event after the response, so an unread upload would stay in memory.
    call.upload?.bytes.destroy()
  }
}
