import { type AccountStatus, canonicalEmail, type Permission, Refusal } from '../../kernel/index.ts'

interface Change {
  from: AccountStatus
  to: AccountStatus
}

/** What a person is told that was decided: `notice.decision.<told>` in config/locales. */
export const toldDecisions = ['APPROVED', 'REJECTED', 'SUSPENDED', 'REACTIVATED'] as const
export type Told = (typeof toldDecisions)[number]

export const accountChanges = {
  approve: { from: 'PENDING_APPROVAL', to: 'ACTIVE', told: 'APPROVED' },
  reject: { from: 'PENDING_APPROVAL', to: 'REJECTED', told: 'REJECTED' },
  suspend: { from: 'ACTIVE', to: 'SUSPENDED', told: 'SUSPENDED' },
  reactivate: { from: 'SUSPENDED', to: 'ACTIVE', told: 'REACTIVATED' },
} as const satisfies Record<string, Change & { told: Told }>

/** Nobody decides over what is their own: a person has an account at each portal with the same address. */
export const demandAnother = (actor: { email: string }, subject: { email: string }): void => {
  if (canonicalEmail(actor.email) === canonicalEmail(subject.email))
    throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'one’s own account' })
}

export const demandStatus = (current: AccountStatus, { from }: Change): void => {
  if (current !== from) throw new Refusal('STATE.CONFLICT', { internal: `it is ${current}, not ${from}` })
}

/** What an operator can be made with, each a choice among all rights. An administrator has every one. */
export const operatorRoles: Record<string, (permission: Permission) => boolean> = {
  administrator: () => true,
  auditor: (permission) => permission.endsWith(':read'),
  approver: (permission) => /:(read|approve|verify|settle)$/.test(permission),
}
