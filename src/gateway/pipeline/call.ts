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
  /** The received path, which is canonical: other paths match no operation. */
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

/** Filled with a double: converting an array of small integers when the first time is stored costs more than the clock. */
const initialStageEnds: readonly number[] = new Array<number>(20).fill(Number.NEGATIVE_INFINITY)

/**
 * One request in the pipeline. A comment names the stage that sets a property; stages that read it run later (app.ts).
 */
export class Call implements IncomingRequest {
  readonly operation: Operation
  readonly chainId: ChainId
  readonly chain: Chain
  /** validate replaces them by their declared form. */
  params: Record<string, string>
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Headers
  readonly peer: string
  readonly body: Readable
  readonly receivedAt: Instant
  readonly requestId: string

  /** edge: whether the peer is a trusted proxy. The stage that determines the portal sets it again. */
  edgeTrusted = false
  clientIp = ''
  country = 'XX'
  userAgent = ''
  /** access-code; on the self chain authenticate */
  portal: Portal | null = null
  locale: Locale = fallbackLocale
  /** required-headers */
  clientHash = ''
  /** limits: the tightest limit of this call, for the RateLimit headers */
  limit: (ExceededLimit & { remaining: number }) | null = null
  /** body: the parsed JSON, undefined without a body */
  payload: unknown = undefined
  upload: Upload | null = null
  /** secure-channel */
  channel: OpenedChannel | null = null
  sealReply: ((text: string) => string) | null = null
  /** authenticate */
  caller: Caller | null = null
  /** workspace, or authenticate for an API key */
  workspace: WorkspaceAccess | null = null
  /** validate */
  input: { query: unknown; body: unknown } = { query: {}, body: null }
  /** idempotency */
  idempotency: Idempotency | null = null
  /** dispatch: the checked data as JSON text, or a stream */
  reply: string | StreamReply = 'null'
  /** tracing, where enabled */
  trace: CallTrace | null = null
  /** Whether the client requested headers only (HEAD). The gateway sends this to a domain service. */
  headOnly: boolean

  /** Index of the current stage; the number of stages once all have passed. */
  stageIndex = 0
  /** End time of each asynchronous stage by performance.now(); negative infinity for synchronous ones. */
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

/** One step of the pipeline: reads the policy, adds facts to the call, or throws a Refusal. It sees no req or res. */
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
    // After the response Node emits no end for the request body, so an unread upload would stay in memory.
    call.upload?.bytes.destroy()
  }
}
