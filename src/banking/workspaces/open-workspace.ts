import type { Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Ids,
  type Instant,
  Refusal,
  type RoleId,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'
import { insertRole, insertWorkspace, readAccountDefaults } from './store.ts'

export type OpenWallets = (
  tx: Tx,
  workspace: { workspaceId: WorkspaceId; kind: WorkspaceKind; at: Instant },
) => Promise<void>

/** How the first owner joins. */
type JoinSource = 'REGISTRATION' | 'CREATION'

export interface OpeningPorts {
  ids: Ids
  openWallets: OpenWallets
  members: {
    addOwner(
      tx: Tx,
      member: { workspaceId: WorkspaceId; accountId: AccountId; roleId: RoleId; joinSource: JoinSource },
      at: Instant,
    ): Promise<boolean>
  }
}

export interface Opening {
  /** Only the seed sets this field. Defaults to a new id. */
  workspaceId?: WorkspaceId
  ownerId: AccountId
  name: string
  /** Defaults to the owner's time zone. */
  timezone?: string | undefined
  kind: WorkspaceKind
  joinSource: JoinSource
  at: Instant
}

/** The result of opening a workspace. If the id already existed, `created` is false and nothing was changed. */
export interface OpenedWorkspace {
  workspaceId: WorkspaceId
  created: boolean
}

const ownerRoleName = 'Owner'

export async function openWorkspace(
  { ids, members }: Pick<OpeningPorts, 'ids' | 'members'>,
  { ownerId, at, ...opening }: Opening,
  tx: Tx,
): Promise<OpenedWorkspace> {
  const home = await readAccountDefaults(tx, ownerId)
  if (!home) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the account no longer exists' })
  const workspaceId = opening.workspaceId ?? ids.next<'workspace'>()
  const { portal, institutionId } = home
  const workspace = { id: workspaceId, portal, institutionId, name: opening.name, kind: opening.kind }
  const inserted = await insertWorkspace(tx, { ...workspace, timezone: opening.timezone ?? home.timezone }, at)
  if (!inserted) return { workspaceId, created: false }
  const roleId = ids.next<'role'>()
  await insertRole(tx, { id: roleId, workspaceId, name: ownerRoleName, type: 'OWNER', permissionCodes: [] }, at)
  await members.addOwner(tx, { workspaceId, accountId: ownerId, roleId, joinSource: opening.joinSource }, at)
  return { workspaceId, created: true }
}

/** Opens a workspace with its wallets, for registration and `workspaces.create`. */
export async function openWorkspaceWithWallets(
  ports: OpeningPorts,
  opening: Opening,
  tx: Tx,
): Promise<OpenedWorkspace> {
  const opened = await openWorkspace(ports, opening, tx)
  if (opened.created) {
    await ports.openWallets(tx, { workspaceId: opened.workspaceId, kind: opening.kind, at: opening.at })
  }
  return opened
}
