import * as z from 'zod'
import { operation } from '../kernel/index.ts'
import { codeOf, listQuery, page, text, timestamp } from './common.ts'
import { reason } from './formats.ts'
import { operator } from './policies.ts'
import { Profile } from './profile.ts'

const Account = Profile.extend({ lastLoginAt: timestamp.nullable() })

const reading = { ...operator, permission: 'account:read' } as const
const approving = { ...operator, permission: 'account:approve', changesRights: true } as const
const suspending = { ...operator, permission: 'account:suspend', changesRights: true } as const
const get = { method: 'GET', chains: ['system'], policy: reading, body: 'none' } as const
const change = {
  method: 'POST',
  chains: ['system'],
  reply: Account,
  refuses: ['RESOURCE.NOT_FOUND', 'STATE.CONFLICT'],
} as const
const Grounds = z.strictObject({ reason })

export const listAccounts = operation({
  ...get,
  id: 'operators.listAccounts',
  path: '/accounts',
  summary: 'Accounts of both portals, by filter',
  query: listQuery(['createdAt', 'updatedAt', 'accountEmail'], {
    accountStatus: codeOf('accountStatus').optional(),
    accountPortal: codeOf('accountPortal').optional(),
    accountEmail: text(320).optional(),
  }),
  reply: page(Account),
  refuses: [],
})

export const readAccount = operation({
  ...get,
  id: 'operators.readAccount',
  path: '/accounts/{account_id}',
  summary: 'One account',
  reply: Account,
  refuses: ['RESOURCE.NOT_FOUND'],
})

export const approveAccount = operation({
  ...change,
  id: 'operators.approveAccount',
  path: '/accounts/{account_id}/approve',
  summary: 'Let an account that waits for approval sign in',
  policy: approving,
  body: 'none',
})

export const rejectAccount = operation({
  ...change,
  id: 'operators.rejectAccount',
  path: '/accounts/{account_id}/reject',
  summary: 'Refuse an account that waits for approval',
  policy: approving,
  body: Grounds,
})

export const suspendAccount = operation({
  ...change,
  id: 'operators.suspendAccount',
  path: '/accounts/{account_id}/suspend',
  summary: 'Suspend an account; ends its sessions; never one’s own',
  policy: suspending,
  body: Grounds,
})

export const reactivateAccount = operation({
  ...change,
  id: 'operators.reactivateAccount',
  path: '/accounts/{account_id}/reactivate',
  summary: 'Let a suspended account sign in again',
  policy: suspending,
  body: 'none',
})

export const terminateAccountSessions = operation({
  ...change,
  id: 'operators.terminateAccountSessions',
  path: '/accounts/{account_id}/sessions/terminate',
  summary: 'End every session of an account',
  policy: { ...operator, permission: 'session:terminate' },
  body: 'none',
  reply: z.object({ success: z.boolean(), terminatedSessions: z.int() }),
  refuses: ['RESOURCE.NOT_FOUND'],
})
