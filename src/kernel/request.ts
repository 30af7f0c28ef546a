import type { AccountId, SessionId, WorkspaceId } from './ids.ts'
import type { Locale } from './locale.ts'
import type { Operation, OperationTypes, Portal } from './operation.ts'
import type { Permission } from './policy.ts'
import type { Instant } from './time.ts'

/** Who calls: an account by a live session, or by an API key. */
export interface Caller {
  accountId: AccountId
  portal: Portal
  /** Null when an API key calls. */
  sessionId: SessionId | null
  /** Null when a session calls. */
  apiKeyId: string | null
  /** When the session last proved a second factor; null for API keys and where it never did. */
  steppedUpAt: Instant | null
  /** Rights outside any workspace: an operator's on the SYSTEM portal, none for others. */
  permissions: ReadonlySet<Permission>
}

/** The workspace that a call works in, and what its caller may do there. */
export interface WorkspaceAccess {
  id: WorkspaceId
  isOwner: boolean
  permissions: ReadonlySet<Permission>
}

/** The key under which a command's effect happens once: completions.md, Money. */
export interface Idempotency {
  requestId: string
  /** SHA-256 of the command's parameters and body in canonical form, hex. */
  bodyHash: string
}

/**
 * Bytes as they come. What bears them says what they are made of (platform/runtime/index.ts): the kernel names nothing
 * of Node's, for the client takes its types into browsers.
 */
export interface ByteStream {
  readonly destroyed: boolean
}

/** A multipart upload, not yet read. */
export interface Upload {
  contentType: string
  bytes: ByteStream
}

/** What every handler is told beside its input. */
export interface RequestContext {
  operationId: string
  requestId: string
  receivedAt: Instant
  portal: Portal
  locale: Locale
  clientIp: string
  /** Empty where the chain demands none. */
  clientHash: string
  userAgent: string
  /** ISO 3166 alpha-2 as the edge tells it, or XX. */
  country: string
  /** The secure-channel session named by the request's header, for the operation that closes it. */
  channelSessionId: string | null
  /** Range and conditional headers of a download. */
  range: string | null
  ifNoneMatch: string | null
  ifRange: string | null
  /** HEAD: the head of the answer is told, and nothing is handed out. */
  headOnly: boolean
}

/** A request that has passed every stage, as a handler sees it: its types follow from the operation's policy. */
export interface Request<O extends Operation> extends RequestContext {
  params: OperationTypes<O>['params']
  query: OperationTypes<O>['query']
  body: OperationTypes<O>['body']
  caller: O['policy']['caller'] extends 'account' ? Caller : null
  workspace: O['policy']['workspace'] extends 'none' ? null : WorkspaceAccess
  idempotency: O['policy']['idempotent'] extends true ? Idempotency : null
  upload: O['body'] extends 'multipart' ? Upload : null
}

/** Bytes that leave as they are, with their own status and headers. */
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

/** A handler for each operation of a contract file, under the operation's export name. */
export type HandlersOf<Contract> = {
  [K in OperationNames<Contract>]: Contract[K] extends Operation ? Handler<Contract[K]> : never
}

/** A request before its types are narrowed by one operation's policy and schemas. */
export interface AnyRequest extends RequestContext {
  params: Record<string, string>
  query: unknown
  body: unknown
  caller: Caller | null
  workspace: WorkspaceAccess | null
  idempotency: Idempotency | null
  upload: Upload | null
}

/** A handler as the pipeline calls it: whatever it is given has been checked against the operation's schemas. */
export type AnyHandler = (request: AnyRequest) => Promise<unknown>
export type HandlerTable = ReadonlyMap<string, AnyHandler>

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' && value !== null && 'policy' in value && 'chains' in value

/** Every operation that a contract file exports, under its name there. */
export const operationsIn = (contract: object): [name: string, operation: Operation][] =>
  Object.entries(contract).filter((entry): entry is [string, Operation] => isOperation(entry[1]))

/**
 * Pairs a contract file's operations with their handlers by export name. Operations without one answer 501.
 * The erased type is safe because the validation stage parses each request by the same operation's schemas.
 */
export const createHandlerTable = <Contract extends object>(
  contract: Contract,
  handlers: Partial<HandlersOf<Contract>>,
): HandlerTable => {
  const table = new Map<string, AnyHandler>()
  for (const [name, handler] of Object.entries(handlers)) {
    const declared: unknown = Reflect.get(contract, name)
    if (!isOperation(declared)) throw new TypeError(`${name} is no operation of this contract file`)
    table.set(declared.id, handler as AnyHandler)
  }
  return table
}

/** What the gateway asserts of a call to an upstream. */
export interface CallAssertion {
  /** The one upstream that it is for. */
  audience: string
  claims: Record<string, unknown>
  /** How long it is good, in ms. */
  ttlMs: number
}

/** Makes it a JWT with `iss`, `iat` and `exp`, verifiable against the gateway's JWKS. */
export interface AssertionSigner {
  sign(assertion: CallAssertion): Promise<string>
}
