import { type AccountStatus, canonicalEmail, type Permission, Refusal } from '../../kernel/index.ts'

/** Decisions about which an account gets a mail. Their texts are `notice.decision.<decision>` in config/locales. */
export const decisions = ['APPROVED', 'REJECTED', 'SUSPENDED', 'REACTIVATED'] as const
export type Decision = (typeof decisions)[number]

interface StatusChange {
  from: AccountStatus
  to: AccountStatus
  decision: Decision
}

/** The status that each command requires, and the status that it sets. */
export const statusChanges = {
  approve: { from: 'PENDING_APPROVAL', to: 'ACTIVE', decision: 'APPROVED' },
  reject: { from: 'PENDING_APPROVAL', to: 'REJECTED', decision: 'REJECTED' },
  suspend: { from: 'ACTIVE', to: 'SUSPENDED', decision: 'SUSPENDED' },
  reactivate: { from: 'SUSPENDED', to: 'ACTIVE', decision: 'REACTIVATED' },
} as const satisfies Record<string, StatusChange>

export type AccountCommand = keyof typeof statusChanges

/** Throws if operators decide about their own account. A person has the same e-mail address at both portals. */
export const assertAnotherPerson = (actor: { email: string }, subject: { email: string }): void => {
  if (canonicalEmail(actor.email) === canonicalEmail(subject.email))
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the caller’s own account' })
}

/** Refuses a command that the current status does not allow. */
export const assertStatus = (current: AccountStatus, { from }: Pick<StatusChange, 'from'>): void => {
  if (current !== from) throw new Refusal('STATE.CONFLICT', { internal: `the account is ${current}, not ${from}` })
}

/** The roles of `portico operator create`. Each role selects some of the operator permissions. */
export const operatorRoles: Record<string, (permission: Permission) => boolean> = {
  administrator: () => true,
  auditor: (permission) => permission.endsWith(':read'),
  approver: (permission) => /:(read|approve|verify|settle)$/.test(permission),
}
