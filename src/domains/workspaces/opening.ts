import type { Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Ids,
  type Instant,
  Refusal,
  type WorkspaceId,
  type WorkspaceKind,
} from '../../kernel/index.ts'
import type { JoinSource } from './contract.ts'

import { addMembership } from './membership-store.ts'
import { accountHome, insertRole, insertWorkspace } from './store.ts'

export interface OpeningPorts {
  ids: Ids
  /** Opens the wallets that every new workspace has, one per configured currency. */
  openWallets: OpenWallets
}

export type OpenWallets = (
  tx: Tx,
  workspace: { workspaceId: WorkspaceId; kind: WorkspaceKind; at: Instant },
) => Promise<void>

export interface Opening {
  /** Given only by the seed, whose ids are fixed. */
  workspaceId?: WorkspaceId
  ownerId: AccountId
  name: string
  /** The owner's own where it is not given. */
  timezone?: string | undefined
  kind: WorkspaceKind
  joinSource: JoinSource
  at: Instant
}

/** `created` is false where a workspace of that id exists already; nothing is changed then. */
export type OpenWorkspace = (tx: Tx, opening: Opening) => Promise<{ workspaceId: WorkspaceId; created: boolean }>

const ownerRoleName = 'Owner'

/** A workspace with its OWNER role and its first owner, in the transaction that is handed in. */
export const workspaceOpener =
  (ids: Ids): OpenWorkspace =>
  async (tx, { ownerId, at, ...opening }) => {
    const home = await accountHome(tx, ownerId)
    if (!home) throw new Refusal('ACCESS.TOKEN_INVALID', { internal: 'the account is gone' })
    const workspaceId = opening.workspaceId ?? ids.next<'workspace'>()
    const workspace = { id: workspaceId, institutionId: home.institutionId, name: opening.name, kind: opening.kind }
    const made = await insertWorkspace(tx, { ...workspace, timezone: opening.timezone ?? home.timezone }, at)
    if (!made) return { workspaceId, created: false }
    const roleId = ids.next<'role'>()
    await insertRole(tx, { id: roleId, workspaceId, name: ownerRoleName, type: 'OWNER', permissionCodes: [] }, at)
    await addMembership(tx, { workspaceId, accountId: ownerId, roleId, joinSource: opening.joinSource }, at)
    return { workspaceId, created: true }
  }

/** The same with the wallets of a new workspace: what registration and `workspaces.create` ask for. */
export const workspaceProvider = (ports: OpeningPorts): OpenWorkspace => {
  const open = workspaceOpener(ports.ids)
  return async (tx, opening) => {
    const opened = await open(tx, opening)
    if (opened.created) {
      await ports.openWallets(tx, { workspaceId: opened.workspaceId, kind: opening.kind, at: opening.at })
    }
    return opened
  }
}
