import type {
  Caller,
  Idempotency,
  Instant,
  Locale,
  MaybePromise,
  Portal,
  WorkspaceAccess,
  WorkspaceId,
} from '../../kernel/index.ts'
import type { AuditContext } from '../../platform/audit/index.ts'
import type { KeyProof, ProvenRequest } from '../../platform/proofs/index.ts'

export interface OpenedChannel {
  plaintext: Uint8Array
  /** Returns a compact JWE, encrypted with the session's key. */
  seal(text: string): string
}

/** A sealed reply is bound to the request id. */
export interface ChannelRequest {
  sessionId: string
  portal: Portal
  clientHash: string
  requestId: string
}

/** The payload is bound to the other properties. */
export interface SealedRequest extends ChannelRequest {
  method: string
  path: string
  payload: string
}

/** Returns undefined for every failure, so that an attacker cannot distinguish them. */
export interface ChannelPort {
  open(sealed: SealedRequest): MaybePromise<OpenedChannel | undefined>
  /** For a request without a body: returns the function that encrypts the reply, or undefined if it cannot. */
  sealer(request: ChannelRequest): MaybePromise<((text: string) => string) | undefined>
}

/** The request and the connection, to which a credential can be bound. */
export interface RequestFacts extends ProvenRequest {
  /** Of the client certificate, in base64url. Null without one from a trusted edge. */
  certificateThumbprint(): string | null
}

export interface Credential {
  token: string
  /** The proof of a token with the scheme DPoP. Undefined for Bearer. */
  dpopProof?: string | undefined
  /** Without them, a credential that is bound to the request is refused. */
  facts?: RequestFacts | undefined
  /** Null on the self chain, where the token determines the portal. */
  portal: Portal | null
  clientHash: string
  clientIp: string
  /** Set if only the token determines the portal. */
  resolveClientIp?: (portal: Portal) => string
  bypassCache: boolean
  /** Set for a repeated check. The token must have been valid at this time, even if it has expired since. */
  receivedAt?: Instant | undefined
  /** The check does not count as activity, and a cached session must be recent. */
  isStreamOpen?: boolean | undefined
  /** The request does not count as activity. */
  isPassive?: boolean | undefined
}

/** The token is the value of the cookie. */
export interface CookieCredential extends Omit<Credential, 'clientHash'> {
  portal: Portal
  /** Null only if the request has a ticket, which the gateway spends instead. */
  clientHash: string | null
  /** For the audit log. */
  operationId: string
  requestId: string
}

/** The ticket of a request, and what it must open. */
export interface TicketUse {
  caller: Caller
  value: string
  operationId: string
  /** With the query, but without the ticket. */
  path: string
}

/** Replaces the headers of the workspace and the locale. */
export interface SpentTicket {
  /** Null means the account's default workspace. */
  workspaceId: WorkspaceId | null
  locale: Locale
}

/** Takes the place of the headers that a link, an image and EventSource cannot send. */
export interface Ticket {
  value: string
  /** Null until the `authenticate` stage has spent it. */
  spent: SpentTicket | null
}

/** Throws ACCESS.TOKEN_INVALID or ACCESS.IP_NOT_ALLOWED. */
export interface AuthenticationPort {
  accessToken(credential: Credential): MaybePromise<Caller>
  sessionCookie(credential: CookieCredential): MaybePromise<Caller>
  /** Throws ACCESS.TICKET_INVALID unless the caller's session has the ticket. Only one request can spend it. */
  ticket(use: TicketUse): Promise<SpentTicket>
  /** For a request without a caller. Throws VALIDATION.INVALID_PARAMETER. */
  keyProof(proof: string, request: ProvenRequest): Promise<KeyProof>
  /** Undefined if the token is not an API key. The keys of operators have no workspace. */
  apiKey(credential: Credential): Promise<{ caller: Caller; workspace: WorkspaceAccess | null }> | undefined
}

/** A command that needs a step-up for its purpose. */
export interface StepUpCommand {
  caller: Caller
  context: AuditContext
  workspaceId: WorkspaceId | null
  /** See `canonicalPurpose`. */
  purpose: string
  /** Lets a retry of the command use the step-up again. */
  idempotency: Idempotency | null
}

/** Returns when the spent step-up was verified, or the reason why there is none, which only operators see. */
export interface StepUpPort {
  spend(command: StepUpCommand): Promise<{ verifiedAt: Instant } | { reason: string }>
}

/** Returns a caller's current rights in a workspace. A null `workspaceId` means the caller's default workspace. */
export interface WorkspacePort {
  enter(caller: Caller, workspaceId: string | null): Promise<WorkspaceAccess>
  /** Like `enter`, for an open stream. The look-ups of one moment share a statement. */
  stay(caller: Caller, workspaceId: WorkspaceId): Promise<WorkspaceAccess>
  /**
   * Returns the workspace without permissions, even if the caller cannot enter it. Throws ACCESS.PERMISSION_DENIED for
   * a non-member.
   */
  identify(caller: Caller, workspaceId: string): Promise<WorkspaceAccess>
}

export interface SpendResult {
  allowed: boolean
  limit: number
  remaining: number
  /** Milliseconds until the window ends. */
  resetMs: number
}

export interface Spend {
  name: string
  key: string
  rule: { limit: number; windowMs: number }
}

/** Counters in fixed windows. If a counter is unavailable, `spendAll` throws; it never allows the call. */
export interface LimitPort {
  /** Spends in order. Stops after the first limit that does not allow the call. */
  spendAll(spends: readonly Spend[]): MaybePromise<SpendResult[]>
  /** Counts in this process only, without I/O. Follows the counts of `spendAll`. */
  admit(spend: Spend): SpendResult
  /** The IPv4 address, or the IPv6 prefix. */
  addressKey(address: string): string
  /** The IPv4 /24 or IPv6 /48. */
  networkKey(address: string): string
}
