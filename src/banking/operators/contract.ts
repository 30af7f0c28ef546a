import * as z from 'zod'
import { suspendedCredentials } from '../../contract/account-fields.ts'
import { narrowed, recovered } from '../../contract/events/caused.ts'
import { type Events, event, statusEvents } from '../../contract/events/event.ts'
import {
  bizId,
  clientReferenceFilter,
  coded,
  codeOf,
  decimal,
  externalReferenceFilter,
  id,
  orderNoFilter,
  portalCode,
  reason,
  text,
  timestamp,
} from '../../contract/fields.ts'
import { listQuery, page } from '../../contract/lists.ts'
import type { Permissions } from '../../contract/permissions.ts'
import { operator } from '../../contract/policies.ts'
import { Account } from '../../contract/shared-schemas.ts'
import {
  accountPortal,
  accountStatus,
  auditHeadPattern,
  auditOutcome,
  type ConfirmedTexts,
  operation,
  type Purpose,
} from '../../kernel/index.ts'

export const summary = 'Accounts, workspaces, ledger, and audit log, for operators.'

export const permissions = {
  operator: {
    account: { sortOrder: 100, actions: ['read', 'approve', 'suspend'], powers: ['approve', 'suspend'] },
    session: { sortOrder: 200, actions: ['terminate'], powers: ['terminate'] },
    ledger: { sortOrder: 1100, actions: ['read'] },
    audit: { sortOrder: 1200, actions: ['read'] },
  },
} as const satisfies Permissions

/** A session as operators see it. Those who read the audit log see the same. */
const Session = z.object({
  bizId,
  accountBizId: bizId,
  accountPortal: coded<string>(accountPortal),
  startedAt: timestamp,
  endedAt: timestamp.nullable(),
  endReason: z.string().nullable().meta({ description: 'LOGOUT, DISPLACED or TERMINATED, for example' }),
})

const sessionEvent = { data: Session, audience: 'operators', permission: 'audit:read' } as const

/** Identity records them: the accounts and sessions of all portals. */
export const events = {
  ...statusEvents('account', accountStatus.codes, {
    object: 'An account',
    data: Account,
    audience: 'operators',
    permission: 'account:read',
  }),
  'session.started': event({ ...sessionEvent, summary: 'A person signed in.' }),
  'session.ended': event({ ...sessionEvent, summary: 'A session was ended before it expired.' }),
} as const satisfies Events

declare global {
  interface PorticoEvents {
    operators: typeof events
  }
}

const reading = { ...operator, permission: 'account:read' } as const
const approving = { ...operator, permission: 'account:approve', stepUp: true, changesRights: true } as const
const suspending = { ...operator, permission: 'account:suspend', stepUp: true, changesRights: true } as const
const readAccounts = { method: 'GET', chains: ['system'], policy: reading, body: 'none' } as const
const change = {
  method: 'POST',
  chains: ['system'],
  reply: Account,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const
const ReasonBody = z.strictObject({ reason })

export const listAccounts = operation({
  ...readAccounts,
  id: 'operators.listAccounts',
  path: '/accounts',
  summary: 'List the accounts of all portals',
  query: listQuery(['createdAt', 'updatedAt', 'accountEmail'], {
    accountStatus: codeOf(accountStatus).optional(),
    accountPortal: portalCode.optional(),
    accountEmail: text(320).optional(),
  }),
  reply: page(Account),
  refuses: [],
})

export const readAccount = operation({
  ...readAccounts,
  id: 'operators.readAccount',
  path: '/accounts/{account_id}',
  summary: 'Read an account',
  reply: Account,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const approveAccount = operation({
  ...change,
  id: 'operators.approveAccount',
  path: '/accounts/{account_id}/approve',
  emits: ['account.active'],
  summary: 'Approve a pending account',
  policy: approving,
  purpose: ofAccount,
  body: 'none',
})

export const rejectAccount = operation({
  ...change,
  id: 'operators.rejectAccount',
  path: '/accounts/{account_id}/reject',
  emits: ['account.rejected', 'workspace.frozen'],
  summary: 'Reject a pending account',
  policy: approving,
  purpose: ofAccount,
  body: ReasonBody,
})

export const suspendAccount = operation({
  ...change,
  id: 'operators.suspendAccount',
  path: '/accounts/{account_id}/suspend',
  emits: ['account.suspended', 'session.ended', ...narrowed],
  summary: 'Suspend an account and end its sessions',
  policy: suspending,
  purpose: ofAccount,
  body: ReasonBody,
})

export const reactivateAccount = operation({
  ...change,
  id: 'operators.reactivateAccount',
  path: '/accounts/{account_id}/reactivate',
  emits: ['account.active'],
  summary: 'Reactivate a suspended account',
  policy: suspending,
  purpose: ofAccount,
  body: 'none',
})

export const terminateAccountSessions = operation({
  ...change,
  id: 'operators.terminateAccountSessions',
  path: '/accounts/{account_id}/sessions/terminate',
  emits: recovered,
  summary: 'End an account’s sessions and suspend its credentials',
  policy: { ...operator, permission: 'session:terminate', stepUp: true, changesRights: true },
  purpose: ofAccount,
  body: 'none',
  reply: z.object({
    success: z.boolean(),
    terminatedSessions: z.int(),
    suspendedCredentials,
  }),
  refuses: ['RESOURCE.NOT_FOUND'],
})

const Invariants = z.object({
  holds: z.boolean(),
  checkedAt: timestamp,
  checks: z.array(z.object({ name: z.string(), holds: z.boolean(), violations: z.int() })),
})

/** The entries of an order sum to zero in each currency. */
const Posting = z.object({
  bizId,
  orderType: z.string(),
  orderBizId: bizId,
  ledgerAccount: z.string(),
  walletBizId: bizId.nullable(),
  amount: decimal.meta({ description: 'Signed amount; a debit is negative' }),
  currency: z.string(),
  createdAt: timestamp,
})

const readLedger = {
  method: 'GET',
  chains: ['system'],
  policy: { ...operator, permission: 'ledger:read' },
  body: 'none',
} as const

export const checkLedgerInvariants = operation({
  ...readLedger,
  id: 'operators.ledgerInvariants',
  path: '/ledger/invariants',
  summary: 'Check the invariants of the ledger',
  reply: Invariants,
  refuses: [],
})

export const listOrderPostings = operation({
  ...readLedger,
  id: 'operators.orderPostings',
  path: '/ledger/orders/{order_id}/postings',
  summary: 'List the ledger postings of an order',
  reply: z.array(Posting),
  refuses: ['RESOURCE.NOT_FOUND'],
})

/** `sequence` and the hexadecimal hashes are null until the entry is part of the hash chain. */
const AuditEntry = z.object({
  bizId,
  sequence: z.int().nullable(),
  at: timestamp,
  portal: coded<string>(accountPortal),
  actorBizId: bizId.nullable(),
  workspaceBizId: bizId.nullable(),
  action: z.string(),
  targetBizId: z.string().nullable(),
  outcome: coded(auditOutcome),
  requestId: z.string(),
  clientIp: z.string(),
  detail: z.record(z.string(), z.unknown()),
  previousHash: z.string().nullable(),
  hash: z.string().nullable(),
})

const ChainVerification = z.object({
  intact: z.boolean().meta({ description: 'False also if the log lacks the entry of `head`, or has another one.' }),
  entriesChecked: z.int().meta({ description: 'Intact entries, including those before `firstSequence`.' }),
  firstSequence: z.int().meta({ description: 'Number of the first entry that this check has read.' }),
  firstBrokenSequence: z.int().nullable(),
  head: z.string().nullable().meta({
    description:
      'Number and hash of the last entry, as `sequence:hash`. Null if the chain is broken. Note it elsewhere.',
  }),
  expectedHead: z.enum(['FOUND', 'MISSING', 'DIFFERENT']).nullable().meta({
    description:
      'Whether the log has the entry of the query parameter `head`. Null without it, and if the chain is broken.',
  }),
  checkedAt: timestamp,
})

const readAudit = {
  method: 'GET',
  chains: ['system', 'systemApi'],
  policy: { ...operator, permission: 'audit:read' },
  body: 'none',
  refuses: [],
} as const

export const listAuditLog = operation({
  ...readAudit,
  id: 'operators.listAuditLog',
  path: '/audit-log',
  summary: 'List audit log entries',
  query: listQuery(['at'], {
    actorId: id.optional(),
    workspaceId: id.optional(),
    action: text(64).optional(),
    // Normalize an id to lower case. Compare any other text unchanged.
    targetId: text(64)
      .overwrite((target) => id.safeParse(target).data ?? target)
      .optional(),
    requestId: text(128).optional(),
    clientIp: z
      .union([z.ipv4(), z.ipv6()])
      .optional()
      .meta({ description: 'The address of the client, IPv4 or IPv6.' }),
    ...orderNoFilter,
    ...clientReferenceFilter,
    ...externalReferenceFilter,
    outcome: codeOf(auditOutcome).optional(),
  }),
  reply: page(AuditEntry),
})

export const verifyAuditLog = operation({
  ...readAudit,
  id: 'operators.verifyAuditLog',
  path: '/audit-log/verify',
  summary: 'Verify the hash chain of the audit log',
  query: z.strictObject({
    scope: z
      .enum(['ALL', 'NEW'])
      .default('ALL')
      .meta({ description: 'NEW checks only the entries behind those that this gateway has verified within a day.' }),
    head: z
      .string()
      .regex(auditHeadPattern)
      .optional()
      .meta({ description: 'A head that was noted earlier, as `sequence:hash`. The log must still have its entry.' }),
  }),
  reply: ChainVerification,
})

function ofAccount({ account_id: account }: ConfirmedTexts): Purpose {
  return { payee: { account } }
}
