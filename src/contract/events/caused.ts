/* Types for the `emits` of several operations. */

/** What the loss of rights causes besides its own event, because nobody can accept what they offered. */
export const narrowed = ['invitation.cancelled', 'invitation.expired'] as const

/** What the end of a membership causes. */
export const left = ['member.removed', 'api_key.deleted', ...narrowed] as const

/** What the recovery of an account ends and suspends. */
export const recovered = [
  ...(['session.ended', 'member.suspended', 'role.changed'] as const),
  ...(['api_key.suspended', 'invitation.suspended', 'withdrawal_channel.suspended'] as const),
] as const

/** What a new workspace contains. */
export const opened = ['workspace.active', 'role.created', 'member.joined', 'wallet.active'] as const
