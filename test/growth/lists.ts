import { listInvitations } from '../../src/banking/invitations/store.ts'
import { listMembers, type MemberQuery } from '../../src/banking/members/store.ts'
import { type AccountQuery, type AuditQuery, listAccounts, listAuditLog } from '../../src/banking/operators/store.ts'
import { listWorkspaces, type WorkspaceQuery } from '../../src/banking/workspaces/store.ts'
import type { Database } from '../../src/database/index.ts'
import { listLoginHistory } from '../../src/identity/sessions/history-store.ts'
import { type Page, toInstant } from '../../src/kernel/index.ts'
import { verifyRecentChanges } from '../../src/ledger/index.ts'
import { type FlowQuery, listFlows } from '../../src/ledger/reads/flows-store.ts'
import { listOrders, readOrder } from '../../src/ledger/reads/orders-store.ts'
import type { OrderQuery } from '../../src/ledger/reads/queries.ts'
import { readBalance } from '../../src/ledger/reads/wallets-store.ts'
import { createdAt, large } from './large-store.ts'

export interface List {
  name: string
  read(database: Database): Promise<Page<unknown>>
  /** The embedded store has no trigrams, so a search reads all rows. */
  needsTrigrams?: boolean
}

const page = { currentPage: 1, pageSize: 20, sortOrder: 'desc' } as const
const deep = { currentPage: 400 }
const now = toInstant(Date.UTC(2030, 0, 1))

function flows(name: string, query: Partial<FlowQuery>): List {
  return {
    name: `flows of a wallet, ${name}`,
    read: (database) => listFlows(database, { ...page, wallet: large.wallet, workspace: large.workspace, ...query }),
  }
}

function orders(name: string, query: Pick<OrderQuery, 'type' | 'workspace'> & Partial<OrderQuery>): List {
  return {
    name,
    read: (database) => listOrders(database, { ...page, sortBy: 'createdAt', ...query }),
  }
}
function transfers(name: string, query: Partial<OrderQuery>): List {
  return orders(`transfers of a workspace, ${name}`, { type: 'TRANSFER', workspace: large.workspace, ...query })
}
function recharges(name: string, query: Partial<OrderQuery>): List {
  return orders(`recharges of all workspaces, ${name}`, {
    type: 'RECHARGE',
    workspace: null,
    expiry: { from: 'PENDING_PAYMENT', to: 'EXPIRED', at: now },
    ...query,
  })
}

function accounts(name: string, query: Partial<AccountQuery>): List {
  return {
    name: `accounts, ${name}`,
    read: (database) => listAccounts(database, { ...page, sortBy: 'createdAt', ...query }),
  }
}

function workspaces(name: string, query: Partial<WorkspaceQuery>): List {
  return {
    name: `workspaces, ${name}`,
    read: (database) => listWorkspaces(database, { ...page, sortBy: 'createdAt', ...query }),
  }
}

function audit(name: string, query: Partial<AuditQuery>): List {
  return {
    name: `audit log, ${name}`,
    read: (database) => listAuditLog(database, { ...page, ...query }),
  }
}

const everyMember = { roleId: undefined, name: undefined, email: undefined, from: undefined, to: undefined }
function members(name: string, query: Partial<MemberQuery>): List {
  return {
    name: `members of a workspace, ${name}`,
    read: (database) =>
      listMembers(database, { ...page, ...everyMember, workspaceId: large.workspace, sortBy: 'createdAt', ...query }),
  }
}

/** Lists whose cost must not grow with the store. */
export const lists: readonly List[] = [
  flows('newest', {}),
  flows('a deep page', deep),
  flows('by direction', { direction: 'IN' }),
  transfers('newest', {}),
  transfers('oldest', { sortOrder: 'asc' }),
  transfers('a deep page', deep),
  transfers('by last change', { sortBy: 'updatedAt' }),
  transfers('by wallet', { wallet: large.wallet }),
  transfers('completed', { statuses: ['COMPLETED'] }),
  transfers('failed', { statuses: ['FAILED'] }),
  orders('transfers that an operator approves, of one workspace', {
    type: 'TRANSFER',
    workspace: null,
    participant: large.workspace,
    statuses: ['PENDING_APPROVAL'],
  }),
  orders('transfers that an operator approves', { type: 'TRANSFER', workspace: null, statuses: ['PENDING_APPROVAL'] }),
  recharges('newest', {}),
  recharges('a deep page', deep),
  recharges('by last change', { sortBy: 'updatedAt' }),
  recharges('of sandboxes', { workspaceKind: 'SANDBOX' }),
  recharges('of live workspaces', { workspaceKind: 'LIVE' }),
  recharges('rejected', { statuses: ['REJECTED'] }),
  recharges('expired', { statuses: ['EXPIRED'] }),
  accounts('newest', {}),
  accounts('a deep page', deep),
  accounts('by last change', { sortBy: 'updatedAt' }),
  accounts('by address', { sortBy: 'accountEmail' }),
  accounts('suspended', { status: 'SUSPENDED' }),
  accounts('of operators', { portal: 'SYSTEM' }),
  { ...accounts('search by address', { email: 'ccount-10007@' }), needsTrigrams: true },
  workspaces('newest', {}),
  workspaces('a deep page', deep),
  workspaces('by last change', { sortBy: 'updatedAt' }),
  workspaces('by name', { sortBy: 'workspaceName' }),
  workspaces('of sandboxes', { kind: 'SANDBOX' }),
  workspaces('frozen', { status: 'FROZEN' }),
  { ...workspaces('search by name', { name: 'RKSPACE 10007' }), needsTrigrams: true },
  audit('newest', {}),
  audit('a deep page', deep),
  audit('of one workspace', { workspaceId: large.workspace }),
  audit('of one account', { actorId: large.account }),
  audit('of one client address', { clientIp: '203.0.113.7' }),
  audit('refused', { outcome: 'REFUSED' }),
  members('newest', {}),
  members('a deep page', deep),
  members('by last change', { sortBy: 'updatedAt' }),
  { ...members('search by name', { name: 'son 10007' }), needsTrigrams: true },
  {
    name: 'sign-ins of an account',
    read: (database) =>
      listLoginHistory(database, {
        ...page,
        portal: 'CONSUMER',
        accountId: large.account,
        from: undefined,
        until: undefined,
      }),
  },
]

/** Reads without pages. `last` is the number of the newest account. */
export const reads: Record<string, (database: Database, last: number) => Promise<unknown>> = {
  'an order': (database) => readOrder(database, { id: large.order, type: 'TRANSFER', workspace: large.workspace }),
  'a balance': (database) => readBalance(database, { wallet: large.wallet, workspace: large.workspace }),
  'pending invitations': (database) =>
    listInvitations(database, { workspaceId: large.workspace }, 'PENDING', toInstant(Date.UTC(2026, 0, 1))),
  'the ledger check of recent changes': (database, last) => verifyRecentChanges(database, createdAt(last - 10)),
  'invitations to an address': (database) =>
    listInvitations(database, { email: 'account-7@example.com', portal: 'CONSUMER' }, undefined, now),
}
