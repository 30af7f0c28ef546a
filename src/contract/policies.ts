import type { Policy } from '../kernel/index.ts'

/*
 * What policies are spread from. A base leaves out what each operation has to decide for itself, so that
 * forgetting it stays a type error: `member` lacks the workspace and the permission, `operator` the permission.
 */

/** Before sign-in, and for what anybody may know. */
export const anonymous = {
  caller: 'anonymous',
  workspace: 'none',
  permission: null,
  stepUp: false,
  channel: 'optional',
  rate: 'general',
  idempotent: false,
  changesRights: false,
} as const satisfies Policy

/** What belongs to the account itself: being who one is suffices. */
export const own = { ...anonymous, caller: 'account' } as const satisfies Policy

/** What a member does in a workspace. */
export const member = {
  caller: 'account',
  stepUp: false,
  channel: 'optional',
  rate: 'general',
  idempotent: false,
  changesRights: false,
} as const

/** A member's money command: it happens once per X-Request-Id. */
export const money = { ...member, rate: 'money', idempotent: true } as const

/** What an operator does on the SYSTEM portal. */
export const operator = { ...member, workspace: 'none' } as const

/** An operator's decision over an order. */
export const decision = { ...operator, rate: 'money', idempotent: true } as const

/** The chains of what either portal offers its accounts. */
export const everyPortal = ['consumer', 'system'] as const
