import type { Locale } from './locale.ts'
import type { Operation, OperationTypes, PassThroughReply, Permission, Portal } from './operation.ts'
import type { AccountId, Instant, SessionId, WorkspaceId } from './scalars.ts'

/** An account with a live session, or an API key. */
export interface Caller {
  accountId: AccountId
  portal: Portal
  /** Null for an API key. */
  sessionId: SessionId | null
  /** Null for a session. */
  apiKeyId: string | null
  /** When the session last verified a second factor, if ever. Null for API keys. */
  steppedUpAt: Instant | null
  /** An operator's permissions on the SYSTEM portal. Empty for other callers. */
  permissions: ReadonlySet<Permission>
  /** Permissions that the account has, and this session lacks because it was not started with a passkey. */
  withheld?: ReadonlySet<Permission>
  /**
   * The permissions that every workspace withholds from this session because it was not started with a passkey. With
   * `all`, the session can only secure its account.
   */
  withheldByWorkspaces?: 'all' | ReadonlySet<string>
  /** The keyed digest of the browser's session cookie, if the request has one. */
  cookieDigest?: Uint8Array
}

/** The workspace of a request, and the caller's permissions in it. */
export interface WorkspaceAccess {
  id: WorkspaceId
  isOwner: boolean
  permissions: ReadonlySet<Permission>
  /** The member's access in a session that was started with a passkey, if this session has less. */
  withPasskey?: Omit<WorkspaceAccess, 'withPasskey'>
}

export interface Idempotency {
  /** The value of Idempotency-Key, or else X-Request-Id. */
  key: string
  /** Hex SHA-256 of the parameters and body as canonical JSON. */
  bodyHash: string
}

/** A stream of bytes without Node types, because the kernel runs in browsers. src/platform/runtime extends it. */
export interface ByteStream {
  readonly destroyed: boolean
}

/** An unread multipart form, or unread bytes. */
export interface Upload {
  contentType: string
  bytes: ByteStream
}

/** The context that every handler receives with its input. */
export interface RequestContext {
  operationId: string
  requestId: string
  receivedAt: Instant
  portal: Portal
  locale: Locale
  clientIp: string
  /** Empty if the chain does not require it. */
  clientHash: string
  userAgent: string
  /** ISO 3166 alpha-2 code from the edge, or XX. */
  country: string
  /** The channel session of the request's header, for the operation that closes it. */
  channelSessionId: string | null
  /** Headers of a download. */
  range: string | null
  ifNoneMatch: string | null
  ifRange: string | null
  /** Whether to omit the body (HEAD). */
  headOnly: boolean
  /** The `id` of the last event that a client of a stream has received, or null at its first request. */
  lastEventId: string | null
  /** Set if a request without a caller has a valid DPoP proof (RFC 9449). */
  keyProof?: { keyThumbprint: string; id: string } | undefined
}

type OptionalCaller = { describesCaller: true } | { startsBrowserSession: true }

/** A request that has passed every stage, typed by the operation's schemas and policy. */
export interface Request<O extends Operation> extends RequestContext {
  params: OperationTypes<O>['params']
  query: OperationTypes<O>['query']
  body: OperationTypes<O>['body']
  caller: O['policy']['caller'] extends 'account' ? Caller : O extends OptionalCaller ? Caller | null : null
  workspace: O['policy']['workspace'] extends 'none'
    ? null
    : O extends { describesCaller: true }
      ? WorkspaceAccess | null
      : WorkspaceAccess
  idempotency: O['policy']['idempotent'] extends true ? Idempotency : null
  upload: O['body'] extends 'multipart' ? Upload : null
  /**
   * Aborts when nobody waits for the reply any more: the client has disconnected, its stream of events has ended, or
   * `requests.handlerTimeoutMs` has passed. Pass it to `fetch` and `withoutTimeouts`. A POST may already have taken effect, so its client cannot abort it.
   */
  signal: AbortSignal
}

/** Bytes with their own status and headers, without an envelope. */
export class StreamReply {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: ByteStream

  constructor(status: number, headers: Record<string, string>, body: ByteStream) {
    this.status = status
    this.headers = headers
    this.body = body
  }
}

/** An event of a stream, for `reply: 'events'`. */
export interface ServerSentEvent {
  /** The client sends it in `Last-Event-ID` when it reconnects. 1 to 256 visible ASCII characters. */
  readonly id?: string | undefined
  /** The name for `addEventListener`. Default: `message`. 1 to 256 visible ASCII characters. */
  readonly event?: string | undefined
  /** Sent as JSON. Without it, the client only remembers `id`. */
  readonly data?: unknown
}

export interface ByteChannel {
  readonly destroyed: boolean
}

export class SocketReply {
  readonly protocol: string | null
  readonly extensions: string | null
  readonly channel: ByteChannel

  constructor(protocol: string | null, extensions: string | null, channel: ByteChannel) {
    this.protocol = protocol
    this.extensions = extensions
    this.channel = channel
  }
}

export type Handler<O extends Operation> = (
  request: Request<O>,
) => Promise<
  O['reply'] extends 'stream'
    ? StreamReply
    : O['reply'] extends 'events'
      ? AsyncIterable<ServerSentEvent>
      : OperationTypes<O>['reply']
>

type NamesWith<Contract, Reply> = {
  [K in keyof Contract]: Contract[K] extends Operation ? (Contract[K]['reply'] extends Reply ? K : never) : never
}[keyof Contract]

/** A handler per operation of a contract file, by export name. A service can send events instead of a handler. */
export type HandlersOf<Contract> = {
  [K in NamesWith<Contract, Operation['reply']> as K extends NamesWith<Contract, PassThroughReply>
    ? never
    : K]: Contract[K] extends Operation ? Handler<Contract[K]> : never
} & {
  [K in NamesWith<Contract, 'events'>]?: Contract[K] extends Operation ? Handler<Contract[K]> : never
}

/** `failed`: the hook threw something else than a Refusal with a code of its domain. */
export interface HookRun {
  domain: string
  verdict: 'running' | 'passed' | 'refused' | 'failed'
}

export interface AnyRequest extends RequestContext {
  params: Record<string, string>
  query: unknown
  body: unknown
  caller: Caller | null
  workspace: WorkspaceAccess | null
  idempotency: Idempotency | null
  upload: Upload | null
  signal: AbortSignal
  /** Collects the hooks of the last transaction. Absent if the operation has none. */
  hookRuns?: HookRun[] | undefined
}

export type AnyHandler = (request: AnyRequest) => Promise<unknown>
export type HandlerTable = ReadonlyMap<string, AnyHandler>

export function operationsIn(contract: object): [name: string, operation: Operation][] {
  return Object.entries(contract).filter((entry): entry is [string, Operation] => isOperation(entry[1]))
}

/**
 * Pairs operations with handlers by export name. Without a handler, an operation responds with 501. The types can be
 * erased because the pipeline validates each request first.
 */
export function createHandlerTable<Contract extends object>(
  contract: Contract,
  handlers: Partial<HandlersOf<Contract>>,
): HandlerTable {
  const table = new Map<string, AnyHandler>()
  for (const [name, handler] of Object.entries(handlers)) {
    const declared: unknown = Reflect.get(contract, name)
    if (!isOperation(declared)) throw new TypeError(`${name} is not an operation of this contract file`)
    table.set(declared.id, handler as AnyHandler)
  }
  return table
}

export interface CallAssertion {
  audience: string
  claims: Record<string, unknown>
  ttlMs: number
}

export interface AssertionSigner {
  /** Returns a JWT with `iss`, `iat` and `exp` that can be verified with the gateway's JWKS. */
  sign(assertion: CallAssertion): Promise<string>
}

function isOperation(value: unknown): value is Operation {
  return typeof value === 'object' && value !== null && 'policy' in value && 'chains' in value
}
