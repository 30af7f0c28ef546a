import type { DomainPorts } from '../../api/domain.ts'
import type { Database, Tx } from '../../database/index.ts'
import {
  type AccountId,
  assertFound,
  conflict,
  denied,
  type Instant,
  notFound,
  type Page,
  type WorkspaceId,
  type WorkspaceKind,
  type WorkspaceStatus,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { type OpeningPorts, openWorkspaceWithWallets } from './open-workspace.ts'
import type { PendingOrders } from './pending-orders.ts'
import {
  listWorkspaces as listWorkspaceRows,
  lockWorkspace,
  setWorkspaceStatus,
  updateWorkspace as updateWorkspaceRow,
  type WorkspaceChanges,
  type WorkspaceQuery,
  type WorkspaceRow,
  workspaceById,
} from './store.ts'

interface StatusChange {
  from: WorkspaceStatus
  to: WorkspaceStatus
}

export const statusChanges = {
  freeze: { from: 'ACTIVE', to: 'FROZEN' },
  unfreeze: { from: 'FROZEN', to: 'ACTIVE' },
} as const satisfies Record<string, StatusChange>

export type StatusCommand = keyof typeof statusChanges

export interface WorkspaceServicePorts extends OpeningPorts {
  countPendingOrders(tx: Tx, id: WorkspaceId, at: Instant): Promise<PendingOrders>
  database: Database
  transaction: DomainPorts['transaction']
  members: OpeningPorts['members'] & {
    assertCapacity(tx: Tx, accountId: AccountId): Promise<void>
    assertOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
  }
}

/** Throws the same refusal as authorization, after which a membership can end. */
export async function readWorkspace({ database }: WorkspaceServicePorts, id: WorkspaceId): Promise<WorkspaceRow> {
  return assertFound(await workspaceById(database, id), 'the membership has just ended', denied)
}

export interface CreateWorkspaceInput {
  name: string
  /** Defaults to the owner's time zone. */
  timezone: string | undefined
  kind: WorkspaceKind
}

/** Throws STATE.CONFLICT at the maximum number of workspaces. */
export function createWorkspace(
  ports: WorkspaceServicePorts,
  input: CreateWorkspaceInput,
  auditContext: AuditContext,
): Promise<WorkspaceRow> {
  return ports.transaction(async (tx) => {
    await ports.members.assertCapacity(tx, auditContext.accountId)
    const opening = { ...input, ownerId: auditContext.accountId, joinSource: 'CREATION', at: auditContext.at } as const
    const { workspaceId } = await openWorkspaceWithWallets(ports, opening, tx)
    await recordSuccess(tx, auditContext, { workspaceId, targetId: workspaceId, detail: { kind: input.kind } })
    return assertFound(await workspaceById(tx, workspaceId), 'the membership has just ended', denied)
  })
}

export function updateWorkspace(
  { transaction }: WorkspaceServicePorts,
  { id, ...changes }: WorkspaceChanges & { id: WorkspaceId },
  auditContext: AuditContext,
): Promise<WorkspaceRow> {
  return transaction(async (tx) => {
    const isChange = Object.values(changes).some((value) => value !== undefined)
    const changed = isChange ? await updateWorkspaceRow(tx, id, changes, auditContext.at) : await lockWorkspace(tx, id)
    if (!changed) throw notFound('no such workspace')
    await recordSuccess(tx, auditContext, { workspaceId: id, targetId: id })
    return changed
  })
}

export function listWorkspaces(
  { database }: WorkspaceServicePorts,
  query: WorkspaceQuery,
): Promise<Page<WorkspaceRow>> {
  return listWorkspaceRows(database, query)
}

/** Operators cannot unfreeze a workspace that they belong to. Authorization checks the status on each request. */
export function changeWorkspaceStatus(
  { transaction, members, countPendingOrders }: WorkspaceServicePorts,
  { id, command, reason }: { id: WorkspaceId; command: StatusCommand; reason: string },
  auditContext: AuditContext,
): Promise<WorkspaceRow & { pending: PendingOrders }> {
  return transaction(async (tx) => {
    const workspace = assertFound(await lockWorkspace(tx, id), 'no such workspace')
    if (command === 'unfreeze') await members.assertOutsider(tx, auditContext.accountId, id)
    assertStatus(workspace.status, statusChanges[command])
    const changed = await setWorkspaceStatus(tx, id, statusChanges[command].to, auditContext.at)
    await recordSuccess(tx, auditContext, { workspaceId: id, targetId: id, detail: { reason } })
    return { ...changed, pending: await countPendingOrders(tx, id, auditContext.at) }
  })
}

function assertStatus(current: WorkspaceStatus, { from }: StatusChange): void {
  if (current !== from) throw conflict(`the workspace is ${current}, not ${from}`)
}
