import type { Caller, Instant, MaybePromise, Portal, WorkspaceAccess } from '../../kernel/index.ts'

/** An opened body of the secure channel. */
export interface OpenedChannel {
  plaintext: Uint8Array
  /** Returns a compact JWE of the reply, encrypted with the session's key. */
  seal(text: string): string
}

/** A sealed payload with the properties of the request to which it is bound. */
export interface SealedRequest {
  sessionId: string
  portal: Portal
  clientHash: string
  method: string
  path: string
  payload: string
}

/**
 * Opens sealed bodies and seals replies. Returns undefined for every failure, so that an attacker cannot distinguish
 * them.
 */
export interface ChannelPort {
  open(sealed: SealedRequest): MaybePromise<OpenedChannel | undefined>
  /** Returns the function that seals the reply of a call without a body. */
  sealer(session: {
    sessionId: string
    portal: Portal
    clientHash: string
  }): MaybePromise<((text: string) => string) | undefined>
}

export interface Credential {
  token: string
  /** Null on the self chain, where the token determines the portal. */
  portal: Portal | null
  clientHash: string
  clientIp: string
  /** Returns the client's address by a portal's edge, where only the token determines the portal. */
  resolveClientIp?: (portal: Portal) => string
  /** Whether to read the session from the store even if it is cached. */
  bypassCache: boolean
  /** Set for a repeated check. The token must have been valid at this time and can have expired since. */
  receivedAt?: Instant | undefined
}

/** Returns the caller of a credential. Throws ACCESS.TOKEN_INVALID or ACCESS.IP_NOT_ALLOWED. */
export interface AuthenticationPort {
  accessToken(credential: Credential): MaybePromise<Caller>
  /** Returns the caller and the workspace of an API key; undefined when the token is not an API key. */
  apiKey(credential: Credential): Promise<{ caller: Caller; workspace: WorkspaceAccess }> | undefined
}

/** Returns a caller's current rights in a workspace. `workspaceId` null means the caller's default workspace. */
export interface WorkspacePort {
  enter(caller: Caller, workspaceId: string | null): Promise<WorkspaceAccess>
}

export interface SpendResult {
  allowed: boolean
  limit: number
  remaining: number
  /** Milliseconds until the window ends. */
  resetMs: number
}

/** Counters in fixed windows. If a counter is unavailable, `spend` throws; it never allows the call. */
export interface LimitPort {
  spend(name: string, key: string, rule: { limit: number; windowMs: number }): MaybePromise<SpendResult>
  /** Returns the key of one client: the IPv4 address, or the IPv6 prefix. */
  addressKey(address: string, ipv6Prefix: number): string
  /** Returns the network of an address: its IPv4 /24 or IPv6 /48. */
  networkKey(address: string): string
}
