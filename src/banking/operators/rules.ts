import type { OperatorRole } from '../../contract/permissions.ts'
import { type AccountId, type AccountStatus, conflict, denied, type Permission } from '../../kernel/index.ts'

/** Decisions that are emailed to the account. Their texts are `notice.decision.<decision>` in locales. */
export const decisions = ['APPROVED', 'REJECTED', 'SUSPENDED', 'REACTIVATED'] as const
export type Decision = (typeof decisions)[number]

interface StatusChange {
  from: AccountStatus
  to: AccountStatus
  decision: Decision
}

export const statusChanges = {
  approve: { from: 'PENDING_APPROVAL', to: 'ACTIVE', decision: 'APPROVED' },
  reject: { from: 'PENDING_APPROVAL', to: 'REJECTED', decision: 'REJECTED' },
  suspend: { from: 'ACTIVE', to: 'SUSPENDED', decision: 'SUSPENDED' },
  reactivate: { from: 'SUSPENDED', to: 'ACTIVE', decision: 'REACTIVATED' },
} as const satisfies Record<string, StatusChange>

export type AccountCommand = keyof typeof statusChanges

/** All accounts of a person have the same key. */
export function assertAnotherPerson(actor: { personKey: string }, subject: { personKey: string }): void {
  if (actor.personKey === subject.personKey) throw denied('the caller’s own account')
}

export function assertStatus(current: AccountStatus, { from }: Pick<StatusChange, 'from'>): void {
  if (current !== from) throw conflict(`the account is ${current}, not ${from}`)
}

/** `managers` can manage operators. Nobody else could undo the suspension of the last one. */
export function assertManagerRemains(
  subject: { id: AccountId },
  managers: readonly { id: AccountId; status: AccountStatus }[],
): void {
  const isManager = managers.some(({ id }) => id === subject.id)
  if (isManager && !managers.some(({ id, status }) => id !== subject.id && status === 'ACTIVE'))
    throw conflict(
      'the account is the last active operator who can manage operators; set --allow-last to suspend it anyway',
    )
}

const incoming = 'recharge:approve'

/**
 * The roles of `portico operator create`. Only an administrator has more than one of these duties: confirm incoming
 * payments, verify payout accounts, approve, and settle payouts.
 */
export const operatorRoles: Record<string, (permission: Permission) => boolean> = {
  administrator: () => true,
  auditor: withDuties(() => false),
  approver: withDuties((permission) => permission.endsWith(':approve') && permission !== incoming),
  confirmer: withDuties((permission) => permission === incoming),
  verifier: withDuties((permission) => /:(verify|reveal)$/.test(permission)),
  settler: withDuties((permission) => /:(settle|reveal)$/.test(permission)),
} satisfies Record<OperatorRole, (permission: Permission) => boolean>

/** Every role can read everything, and observe the gateway. */
function withDuties(selects: (permission: Permission) => boolean) {
  return (permission: Permission): boolean => /:(read|observe)$/.test(permission) || selects(permission)
}
