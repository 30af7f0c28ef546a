/* Types for the `emits` of several operations. */

/** The loss of rights also ends the invitations that offered them. */
export const narrowed = ['invitation.cancelled', 'invitation.expired'] as const

/** The events of the end of a membership. */
export const left = ['member.removed', 'api_key.deleted', ...narrowed] as const

/** The events of the recovery of an account. */
export const recovered = [
  ...(['session.ended', 'member.suspended', 'role.changed'] as const),
  ...(['api_key.suspended', 'invitation.suspended', 'withdrawal_channel.suspended'] as const),
] as const

/** The events of a new workspace. */
export const opened = ['workspace.active', 'role.created', 'member.joined', 'wallet.active'] as const
