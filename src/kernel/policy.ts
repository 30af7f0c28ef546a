/** Rate limit groups (`limits` in the configuration). Each operation counts towards one of them. */
export const rateGroups = [
  'login',
  'mfaSend',
  'forgot',
  'password',
  'registration',
  'channelOpen',
  'refresh',
  'money',
  'export',
  'general',
] as const
export type RateGroup = (typeof rateGroups)[number]

/** A permission code `group:action`. */
export type Permission = `${string}:${string}`

/** What the pipeline does for an operation. No key is optional, so that forgetting one is a type error. */
export interface Policy {
  /** `anonymous`: tokens are ignored. `account`: a live session, or an API key on the api chain. */
  caller: 'anonymous' | 'account'
  /** The X-Workspace-Id header: ignored, defaulting to the account's workspace, or required. */
  workspace: 'none' | 'optional' | 'required'
  /** The permission that the caller needs; null if authentication is enough. */
  permission: Permission | null
  /** Requires a second factor verified within the last `mfa.stepUpMs`. */
  stepUp: boolean
  /** Whether the secure channel can carry the body. A portal's configuration can require it. */
  channel: 'none' | 'optional'
  rate: RateGroup
  /** Whether X-Request-Id is the idempotency key. */
  idempotent: boolean
  /**
   * Whether the operation can change permissions or the default workspace. The response is sent once every replica has
   * dropped its cached access (docs/decisions/0008).
   */
  changesRights: boolean
}
