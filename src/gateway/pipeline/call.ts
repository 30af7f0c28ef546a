import type { Readable } from 'node:stream'
import type { Span } from '@opentelemetry/api'
import {
  type Caller,
  type Chain,
  type ChainId,
  chains,
  type ExceededLimit,
  fallbackLocale,
  type Idempotency,
  type Instant,
  type Locale,
  type MaybePromise,
  type Operation,
  type Portal,
  type StreamReply,
  type Upload,
  type WorkspaceAccess,
} from '../../kernel/index.ts'
import type { Headers } from './headers.ts'
import type { OpenedChannel } from './ports.ts'

/** A request before the first stage. */
export interface IncomingRequest {
  operation: Operation
  chainId: ChainId
  /** Path parameters, percent-decoded. */
  params: Record<string, string>
  method: string
  /** The received path. It is canonical, because other paths match no operation. */
  path: string
  /** The received text after the question mark. */
  query: string
  headers: Headers
  /** Address of the connected peer. */
  peer: string
  body: Readable
  receivedAt: Instant
  requestId: string
}

/** The span of a request and its W3C trace context. */
export interface CallTrace {
  span: Span
  /** Null without a trace: no SDK is installed and the request has no traceparent. */
  traceId: string | null
  /** The headers for an upstream; null without a value. */
  traceparent: string | null
  tracestate: string | null
}

/**
 * Start with a double. If the array contained small integers, storing the first time would convert it, which costs more
 * than reading the clock.
 */
const initialStageEnds: readonly number[] = new Array<number>(20).fill(Number.NEGATIVE_INFINITY)

/** One request in the pipeline. Comments name the stage that sets a property; only later stages read it (app.ts). */
export class Call implements IncomingRequest {
  readonly operation: Operation
  readonly chainId: ChainId
  readonly chain: Chain
  /** The stage validate replaces them by the values that their schemas return. */
  params: Record<string, string>
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Headers
  readonly peer: string
  readonly body: Readable
  readonly receivedAt: Instant
  readonly requestId: string

  /** Set by edge: whether the peer is a trusted proxy. The stage that determines the portal sets it again. */
  edgeTrusted = false
  clientIp = ''
  country = 'XX'
  userAgent = ''
  /** Set by access-code, or by authenticate on the self chain. */
  portal: Portal | null = null
  locale: Locale = fallbackLocale
  /** Set by client-hash. */
  clientHash = ''
  /** Set by limits: the tightest limit of this call, for the RateLimit headers. */
  limit: (ExceededLimit & { remaining: number }) | null = null
  /** Set by body: the parsed JSON, or undefined without a body. */
  payload: unknown = undefined
  upload: Upload | null = null
  /** Set by secure-channel. */
  channel: OpenedChannel | null = null
  sealReply: ((text: string) => string) | null = null
  /** Set by authenticate. */
  caller: Caller | null = null
  /** Set by workspace, or by authenticate for an API key. */
  workspace: WorkspaceAccess | null = null
  /** Set by validate. */
  input: { query: unknown; body: unknown } = { query: {}, body: null }
  /** Set by idempotency. */
  idempotency: Idempotency | null = null
  /** Set by dispatch: the validated data as JSON text, or a stream. */
  reply: string | StreamReply = 'null'
  /** Set by tracing, if it is enabled. */
  trace: CallTrace | null = null
  /** Whether the client requested headers only (HEAD). The gateway sends this to a domain service. */
  headOnly: boolean

  /** Index of the current stage; the number of stages once all have passed. */
  stageIndex = 0
  /** The end of each asynchronous stage by performance.now(). Negative infinity for synchronous stages. */
  readonly stageEnds: number[] = initialStageEnds.slice()

  constructor(request: IncomingRequest) {
    this.operation = request.operation
    this.chainId = request.chainId
    this.chain = chains[request.chainId]
    this.params = request.params
    this.method = request.method
    this.path = request.path
    this.query = request.query
    this.headers = request.headers
    this.peer = request.peer
    this.body = request.body
    this.receivedAt = request.receivedAt
    this.requestId = request.requestId
    this.headOnly = request.method === 'HEAD'
  }
}

/**
 * One step of the pipeline. A stage reads the policy, sets properties of the call, or throws a Refusal. It has no
 * access to the HTTP request and response.
 */
export type Stage = (call: Call) => MaybePromise<void>

/** Runs the stages in order until one throws. */
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
    // After the response Node emits no end event for the request body, so an unread upload would stay in memory.
    call.upload?.bytes.destroy()
  }
}
