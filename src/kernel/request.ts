import type { Locale } from './locale.ts'
import type { Operation, OperationTypes, Permission, Portal } from './operation.ts'
import type { AccountId, Instant, SessionId, WorkspaceId } from './scalars.ts'

/** The authenticated caller: an account with a live session or an API key. */
export interface Caller {
  accountId: AccountId
  portal: Portal
  /** Null for an API key. */
  sessionId: SessionId | null
  /** Null for a session. */
  apiKeyId: string | null
  /** When the session last verified a second factor. Null if it never did, and for API keys. */
  steppedUpAt: Instant | null
  /** Permissions outside any workspace: those of an operator on the SYSTEM portal. Empty for others. */
  permissions: ReadonlySet<Permission>
}

/** The workspace of a request, and the caller's permissions in it. */
export interface WorkspaceAccess {
  id: WorkspaceId
  isOwner: boolean
  permissions: ReadonlySet<Permission>
}

/** The idempotency key of a command. */
export interface Idempotency {
  requestId: string
  /** Hex SHA-256 of the command's parameters and body as canonical JSON. */
  bodyHash: string
}

/**
 * A stream of bytes. src/platform/runtime extends it to a Node stream. The kernel runs in browsers and uses no Node
 * types.
 */
export interface ByteStream {
  readonly destroyed: boolean
}

/** An unread multipart upload. */
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
  /** ISO 3166 alpha-2 from the edge, or XX. */
  country: string
  /** The secure-channel session of the request's header, for the operation that closes it. */
  channelSessionId: string | null
  /** Range and conditional headers of a download. */
  range: string | null
  ifNoneMatch: string | null
  ifRange: string | null
  /** Whether to send the headers of the reply without its body (HEAD). */
  headOnly: boolean
}

/** A request that has passed every stage. Its types derive from the operation's schemas and policy. */
export interface Request<O extends Operation> extends RequestContext {
  params: OperationTypes<O>['params']
  query: OperationTypes<O>['query']
  body: OperationTypes<O>['body']
  caller: O['policy']['caller'] extends 'account' ? Caller : null
  workspace: O['policy']['workspace'] extends 'none' ? null : WorkspaceAccess
  idempotency: O['policy']['idempotent'] extends true ? Idempotency : null
  upload: O['body'] extends 'multipart' ? Upload : null
}

/** A reply of bytes with its own status and headers, sent without an envelope. */
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

export type Handler<O extends Operation> = (
  request: Request<O>,
) => Promise<O['reply'] extends 'stream' ? StreamReply : OperationTypes<O>['reply']>

/** The operations among the exports of a contract file. */
type OperationNames<Contract> = {
  [K in keyof Contract]: Contract[K] extends Operation ? K : never
}[keyof Contract]

/** A handler for each operation of a contract file, by export name. */
export type HandlersOf<Contract> = {
  [K in OperationNames<Contract>]: Contract[K] extends Operation ? Handler<Contract[K]> : never
}

/** A request of any operation. */
export interface AnyRequest extends RequestContext {
  params: Record<string, string>
  query: unknown
  body: unknown
  caller: Caller | null
  workspace: WorkspaceAccess | null
  idempotency: Idempotency | null
  upload: Upload | null
}

/** A handler as the pipeline calls it. The validation stage has parsed the request by the operation's schemas. */
export type AnyHandler = (request: AnyRequest) => Promise<unknown>
export type HandlerTable = ReadonlyMap<string, AnyHandler>

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' && value !== null && 'policy' in value && 'chains' in value

/** Returns every operation that a contract file exports, with its export name. */
export const operationsIn = (contract: object): [name: string, operation: Operation][] =>
  Object.entries(contract).filter((entry): entry is [string, Operation] => isOperation(entry[1]))

/**
 * Pairs a contract file's operations with their handlers by export name. Operations without a handler reply with 501.
 * The erased type is safe because the validation stage parses each request by the operation's schemas.
 */
export const createHandlerTable = <Contract extends object>(
  contract: Contract,
  handlers: Partial<HandlersOf<Contract>>,
): HandlerTable => {
  const table = new Map<string, AnyHandler>()
  for (const [name, handler] of Object.entries(handlers)) {
    const declared: unknown = Reflect.get(contract, name)
    if (!isOperation(declared)) throw new TypeError(`${name} is not an operation of this contract file`)
    table.set(declared.id, handler as AnyHandler)
  }
  return table
}

/** The claims about a call that the gateway asserts to an upstream. */
export interface CallAssertion {
  /** The upstream's name. */
  audience: string
  claims: Record<string, unknown>
  ttlMs: number
}

/** Signs call assertions as JWTs. */
export interface AssertionSigner {
  /** Returns a JWT with `iss`, `iat` and `exp` that the gateway's JWKS verifies. */
  sign(assertion: CallAssertion): Promise<string>
}
