import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  notFound,
  type Page,
  Refusal,
  type WorkspaceId,
  type WorkspaceKind,
  type WorkspaceStatus,
} from '../../kernel/index.ts'
import { type AuditContext, recordSuccess } from '../../platform/audit/index.ts'
import { type OpeningPorts, openWorkspaceWithWallets } from './open-workspace.ts'
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

/** The status that each command requires, and the status that it sets. */
export const statusChanges = {
  freeze: { from: 'ACTIVE', to: 'FROZEN' },
  unfreeze: { from: 'FROZEN', to: 'ACTIVE' },
} as const satisfies Record<string, StatusChange>

export type StatusCommand = keyof typeof statusChanges

const assertStatus = (current: WorkspaceStatus, { from }: StatusChange): void => {
  if (current !== from) throw new Refusal('STATE.CONFLICT', { internal: `the workspace is ${current}, not ${from}` })
}

export interface WorkspaceServicePorts extends OpeningPorts {
  database: Database
  members: OpeningPorts['members'] & {
    /** Refuses if the account belongs to the maximum number of workspaces. */
    assertCapacity(tx: Tx, accountId: AccountId): Promise<void>
    /** Refuses a person who belongs to the workspace with any account. */
    assertOutsider(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<void>
  }
}

/**
 * Throws if the row is missing, because a membership can end after authorization. The refusal is the one of
 * authorization.
 */
const assertFound = (row: WorkspaceRow | undefined): WorkspaceRow => {
  if (row === undefined) throw new Refusal('ACCESS.PERMISSION_DENIED', { internal: 'the membership has just ended' })
  return row
}

/** Returns the workspace of the request. */
export const readWorkspace = async ({ database }: WorkspaceServicePorts, id: WorkspaceId): Promise<WorkspaceRow> =>
  assertFound(await workspaceById(database, id))

export interface CreateWorkspaceInput {
  name: string
  /** By default the owner's time zone. */
  timezone: string | undefined
  kind: WorkspaceKind
}

/** Creates a workspace that the caller owns. Throws if the account has the maximum number of workspaces. */
export const createWorkspace = (
  ports: WorkspaceServicePorts,
  input: CreateWorkspaceInput,
  auditContext: AuditContext,
): Promise<WorkspaceRow> =>
  inTransaction(ports.database, async (tx) => {
    await ports.members.assertCapacity(tx, auditContext.accountId)
    const opening = { ...input, ownerId: auditContext.accountId, joinSource: 'CREATION', at: auditContext.at } as const
    const { workspaceId } = await openWorkspaceWithWallets(ports, opening, tx)
    await recordSuccess(tx, auditContext, { workspaceId, targetId: workspaceId, detail: { kind: input.kind } })
    return assertFound(await workspaceById(tx, workspaceId))
  })

/** Changes fields of a workspace. */
export const updateWorkspace = (
  { database }: WorkspaceServicePorts,
  { id, ...changes }: WorkspaceChanges & { id: WorkspaceId },
  auditContext: AuditContext,
): Promise<WorkspaceRow> =>
  inTransaction(database, async (tx) => {
    const changed = await updateWorkspaceRow(tx, id, changes, auditContext.at)
    await recordSuccess(tx, auditContext, { workspaceId: id, targetId: id })
    return changed
  })

/** Returns one page of all workspaces, for operators. */
export const listWorkspaces = (
  { database }: WorkspaceServicePorts,
  query: WorkspaceQuery,
): Promise<Page<WorkspaceRow>> => listWorkspaceRows(database, query)

/**
 * Freezes or unfreezes a workspace. Operators cannot unfreeze a workspace that they belong to. Authorization checks the
 * status on each request.
 */
export const changeWorkspaceStatus = (
  { database, members }: WorkspaceServicePorts,
  { id, command, reason }: { id: WorkspaceId; command: StatusCommand; reason: string },
  auditContext: AuditContext,
): Promise<WorkspaceRow> =>
  inTransaction(database, async (tx) => {
    const workspace = await lockWorkspace(tx, id)
    if (!workspace) throw notFound('no such workspace')
    if (command === 'unfreeze') await members.assertOutsider(tx, auditContext.accountId, id)
    assertStatus(workspace.status, statusChanges[command])
    const changed = await setWorkspaceStatus(tx, id, statusChanges[command].to, auditContext.at)
    await recordSuccess(tx, auditContext, { workspaceId: id, targetId: id, detail: { reason } })
    return changed
  })
