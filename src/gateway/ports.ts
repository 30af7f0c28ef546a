import type { Caller, Instant, MaybePromise, Portal, WorkspaceAccess } from '../kernel/index.ts'

/** A body that came through the secure channel, and the means to answer by the same way. */
export interface OpenedChannel {
  plaintext: Uint8Array
  /** The compact JWE of a reply under the session's key. */
  seal(text: string): string
}

/** A sealed body's payload, and what of its request it is bound to. */
export interface SealedRequest {
  sessionId: string
  portal: Portal
  clientHash: string
  method: string
  path: string
  payload: string
}

/** Opens encrypted bodies and seals replies. Whatever is wrong is one and the same undefined: nothing is learned by trying. */
export interface ChannelPort {
  open(sealed: SealedRequest): MaybePromise<OpenedChannel | undefined>
  /** For a call with no body to open that still asks for a sealed reply. */
  sealer(session: {
    sessionId: string
    portal: Portal
    clientHash: string
  }): MaybePromise<((text: string) => string) | undefined>
}

export interface Credential {
  token: string
  /** Null where the token itself says which portal it belongs to (the self chain). */
  portal: Portal | null
  clientHash: string
  clientIp: string
  /** The client's address as the edge of a portal tells it, where only the token says which portal that is. */
  clientIpAt?: (portal: Portal) => string
  /** The session as it is now, whatever is remembered of it. */
  anew: boolean
  /** When the call came, where it is judged once more: the token has to have been good then, and may have expired since. */
  cameAt?: Instant | undefined
}

/** Turns a credential into its live caller, or refuses with ACCESS.TOKEN_INVALID or ACCESS.IP_NOT_ALLOWED. */
export interface AuthenticationPort {
  accessToken(credential: Credential): MaybePromise<Caller>
  /** An API key of the second chain, with the workspace that it implies; undefined where the text is no API key. */
  apiKey(credential: Credential): Promise<{ caller: Caller; workspace: WorkspaceAccess }> | undefined
}

/** Lets a caller into a workspace with today's rights. `workspaceId` null asks for the caller's default one. */
export interface WorkspacePort {
  enter(caller: Caller, workspaceId: string | null): Promise<WorkspaceAccess>
}

export interface Spent {
  allowed: boolean
  limit: number
  remaining: number
  /** Until the window ends. */
  resetMs: number
}

/** Counters in fixed windows. A counter that cannot be reached refuses; it never lets pass. */
export interface LimitPort {
  spend(name: string, key: string, rule: { limit: number; windowMs: number }): MaybePromise<Spent>
  /** One client's key: an IPv6 address by its prefix. */
  addressKey(address: string, ipv6Prefix: number): string
  /** The network of an address: its IPv4 /24 or IPv6 /48. */
  networkKey(address: string): string
}
