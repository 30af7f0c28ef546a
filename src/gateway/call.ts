import type { Readable } from 'node:stream'
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
} from '../kernel/index.ts'
import type { Headers } from './headers.ts'
import type { OpenedChannel } from './ports.ts'
import type { CallTrace } from './tracing.ts'

/** What the transport knows of a request before any stage has run. */
export interface Arrival {
  operation: Operation
  chainId: ChainId
  /** Path parameters, percent-decoded. */
  params: Record<string, string>
  method: string
  /** The path as it came, which is the canonical one: others match no operation. */
  path: string
  /** After the question mark, as it came. */
  query: string
  headers: Headers
  /** The socket's other end. */
  peer: string
  body: Readable
  receivedAt: Instant
  requestId: string
}

/** Doubles from the start: an array that has to become one of them costs more than the clock. */
const noEnds: readonly number[] = new Array<number>(20).fill(Number.NEGATIVE_INFINITY)

/**
 * One request on its way through the stages. Each fact is set by the one stage named beside it; a stage that needs
 * a fact comes after the one that sets it (app.ts).
 */
export class Call implements Arrival {
  readonly operation: Operation
  readonly chainId: ChainId
  readonly chain: Chain
  /** Replaced by validate: in the form that the operation declares */
  params: Record<string, string>
  readonly method: string
  readonly path: string
  readonly query: string
  readonly headers: Headers
  readonly peer: string
  readonly body: Readable
  readonly receivedAt: Instant
  readonly requestId: string

  /** edge, on the chains of both portals again by who learns the portal: whether the peer may tell us of the client */
  edgeTrusted = false
  clientIp = ''
  country = 'XX'
  userAgent = ''
  /** portal, or on the self chain authenticate */
  portal: Portal | null = null
  locale: Locale = fallbackLocale
  /** client-hash */
  clientHash = ''
  /** limits: what the answer says of the tightest limit that it spent from */
  limit: (ExceededLimit & { remaining: number }) | null = null
  /** body: the JSON that came, undefined where none did */
  payload: unknown = undefined
  upload: Upload | null = null
  /** secure-channel */
  channel: OpenedChannel | null = null
  sealReply: ((text: string) => string) | null = null
  /** authenticate */
  caller: Caller | null = null
  /** workspace, or an API key that implies one */
  workspace: WorkspaceAccess | null = null
  /** validate */
  input: { query: unknown; body: unknown } = { query: {}, body: null }
  /** idempotency */
  idempotency: Idempotency | null = null
  /** serve: the answer's data, checked, as JSON text; or bytes as they come */
  reply: string | StreamReply = 'null'
  /** tracing, where it is switched on */
  trace: CallTrace | null = null
  /** Whether only the head of the answer is wanted (HEAD); a domain service has it from the gateway */
  headOnly: boolean

  /** The stage that the call is in, by its place; as many as there are when it has passed them all. */
  reached = 0
  /** By stage, when it had been waited for, by performance.now(); before all time for stages that nobody waits for. */
  readonly ends: number[] = noEnds.slice()

  constructor(arrival: Arrival) {
    this.operation = arrival.operation
    this.chainId = arrival.chainId
    this.chain = chains[arrival.chainId]
    this.params = arrival.params
    this.method = arrival.method
    this.path = arrival.path
    this.query = arrival.query
    this.headers = arrival.headers
    this.peer = arrival.peer
    this.body = arrival.body
    this.receivedAt = arrival.receivedAt
    this.requestId = arrival.requestId
    this.headOnly = arrival.method === 'HEAD'
  }
}

/** A step of the pipeline: reads the policy, adds facts to the call, or throws a Refusal. It never sees req or res. */
export type Stage = (call: Call) => MaybePromise<void>

export const runStages = async (stages: readonly Stage[], call: Call): Promise<void> => {
  try {
    for (const stage of stages) {
      const pending = stage(call)
      if (pending) {
        // Stages that nobody waits for take no time worth telling, and the clock costs more than most of them.
        await pending
        call.ends[call.reached] = performance.now()
      }
      call.reached += 1
    }
  } finally {
    // Once a request is answered Node tells its body of no end: what waits for one would keep the bytes that nobody has read.
    call.upload?.bytes.destroy()
  }
}
