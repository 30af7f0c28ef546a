import type { Policy } from '../kernel/index.ts'

/*
 * Bases that policies spread. A base omits what each operation must decide, so that forgetting it is a type error:
 * `member` omits the workspace and the permission, `operator` the permission.
 */

/** Public operations, before and after sign-in. */
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

/** Operations on the caller's own account. They need no permission. */
export const own = { ...anonymous, caller: 'account' } as const satisfies Policy

/** Operations of a workspace's members. */
export const member = {
  caller: 'account',
  stepUp: false,
  channel: 'optional',
  rate: 'general',
  idempotent: false,
  changesRights: false,
} as const

/** A member's money command, idempotent by X-Request-Id. */
export const money = { ...member, rate: 'money', idempotent: true } as const

/** Operations of the SYSTEM portal's operators. */
export const operator = { ...member, workspace: 'none' } as const

/** An operator's decision on an order, idempotent by X-Request-Id. */
export const decision = { ...operator, rate: 'money', idempotent: true } as const

/** The chains of operations that both portals offer. */
export const everyPortal = ['consumer', 'system'] as const
