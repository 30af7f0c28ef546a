/** The limits' groups (config `limits`); each operation spends from one of them. */
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

/** A right of the form group:action. */
export type Permission = `${string}:${string}`

/** What the pipeline does for an operation. No key is optional: to forget one is a type error. */
export interface Policy {
  /** `anonymous`: no token is looked at. `account`: a live session, or on the api chain an API key. */
  caller: 'anonymous' | 'account'
  /** The X-Workspace-Id header: unused, else the account's default, or demanded. */
  workspace: 'none' | 'optional' | 'required'
  /** The right that the caller's role must hold; null where being who one is suffices. */
  permission: Permission | null
  /** A second factor that was proved within the last `mfa.stepUpMs`. */
  stepUp: boolean
  /** Whether a body may come through the secure channel; a portal's configuration can make it mandatory. */
  channel: 'none' | 'optional'
  rate: RateGroup
  /** X-Request-Id is the key under which the effect happens once. */
  idempotent: boolean
  /**
   * It may change what somebody may do, or which workspace is meant where none is named: it is answered when no replica goes
   * by what was so before (docs/decisions/0008).
   */
  changesRights: boolean
}
