import { type Database, inTransaction, type Tx } from '../../database/index.ts'
import {
  type AccountId,
  type Ids,
  type Instant,
  notFound,
  Refusal,
  type RoleId,
  type WorkspaceAccess,
  type WorkspaceId,
} from '../../kernel/index.ts'
import { type Act, recordAct } from '../../platform/audit/index.ts'
import { added, requireCustom, requireMayGrant, requireMayReassign } from './rules.ts'
import {
  countRoles,
  deleteRole,
  insertRole,
  isInUse,
  isNameTaken,
  type RoleChanges,
  type RoleRow,
  roleById,
  rolesOf,
  updateRole,
} from './store.ts'

export interface RoleMember {
  accountId: AccountId
  workspaceId: WorkspaceId
  roleId: RoleId
  roleType: RoleRow['type']
}

/** Who belongs to a workspace. `holdFor` makes changes to its people take turns. */
export interface MembersPort {
  /** Refuses where the rights by which somebody acts have shrunk since they were read. */
  holdFor(tx: Tx, accountId: AccountId, by: WorkspaceAccess): Promise<unknown>
  find(tx: Tx, accountId: AccountId, workspaceId: WorkspaceId): Promise<RoleMember | undefined>
  /** Refuses with WORKSPACE.LAST_OWNER where it would leave none. */
  assign(tx: Tx, member: RoleMember, role: Pick<RoleMember, 'roleId' | 'roleType'>, at: Instant): Promise<void>
}

/** Who acts, in which workspace, with which rights. */
export interface Acting {
  act: Act
  by: WorkspaceAccess
}

const present = (role: RoleRow | undefined): RoleRow => {
  if (!role) throw notFound('no such role in this workspace')
  return role
}

/** For the audit log: who gets a role gets these. */
const granted = (permissionCodes: readonly string[]) => ({ permissions: permissionCodes.toSorted().join(',') })

const taken = (): Refusal => new Refusal('STATE.CONFLICT', { internal: 'a role has that name' })

export interface RolePorts {
  database: Database
  ids: Ids
  members: MembersPort
  settings: { maxPerWorkspace: number }
}

export const createService = ({ database, ids, members, settings }: RolePorts) => {
  /** Changes a custom role, alone in its workspace. */
  const change = <T>(
    { act, by }: Acting,
    id: RoleId,
    work: (tx: Tx, role: RoleRow) => Promise<T>,
    detail: Record<string, string> = {},
  ): Promise<T> =>
    inTransaction(database, async (tx) => {
      await members.holdFor(tx, act.accountId, by)
      const role = present(await roleById(tx, { workspaceId: by.id, id }))
      requireCustom(role)
      const result = await work(tx, role)
      await recordAct(tx, act, { workspaceId: by.id, targetId: id, detail })
      return result
    })

  return {
    list: (workspaceId: WorkspaceId): Promise<RoleRow[]> => rolesOf(database, workspaceId),

    read: async (workspaceId: WorkspaceId, id: RoleId): Promise<RoleRow> =>
      present(await roleById(database, { workspaceId, id })),

    create: (acting: Acting, asked: { name: string; description: string; permissionCodes: string[] }) => {
      const { act, by } = acting
      requireMayGrant(by, { type: 'CUSTOM', permissionCodes: asked.permissionCodes })
      return inTransaction(database, async (tx) => {
        await members.holdFor(tx, act.accountId, by)
        if ((await countRoles(tx, by.id)) >= settings.maxPerWorkspace) {
          throw new Refusal('STATE.CONFLICT', { internal: 'the workspace has as many roles as it may' })
        }
        const made = await insertRole(tx, { ...asked, workspaceId: by.id, id: ids.next<'role'>() }, act.at)
        if (!made) throw taken()
        await recordAct(tx, act, { workspaceId: by.id, targetId: made.id, detail: granted(made.permissionCodes) })
        return made
      })
    },

    update: (acting: Acting, id: RoleId, changes: Pick<RoleChanges, 'name' | 'description'>): Promise<RoleRow> =>
      change(acting, id, async (tx, role) => {
        if (changes.name !== undefined && (await isNameTaken(tx, role, changes.name))) throw taken()
        return updateRole(tx, role, changes, acting.act.at)
      }),

    setPermissions: (acting: Acting, id: RoleId, permissionCodes: string[]): Promise<RoleRow> =>
      change(
        acting,
        id,
        (tx, role) => {
          requireMayGrant(acting.by, {
            type: role.type,
            permissionCodes: added(role.permissionCodes, permissionCodes),
          })
          return updateRole(tx, role, { permissionCodes }, acting.act.at)
        },
        granted(permissionCodes),
      ),

    delete: (acting: Acting, id: RoleId): Promise<void> =>
      change(acting, id, async (tx, role) => {
        if (await isInUse(tx, role, acting.act.at)) {
          throw new Refusal('STATE.CONFLICT', { internal: 'the role is held or offered' })
        }
        await deleteRole(tx, role)
      }),

    changeMember: ({ act, by }: Acting, accountId: AccountId, id: RoleId): Promise<RoleRow> =>
      inTransaction(database, async (tx) => {
        await members.holdFor(tx, act.accountId, by)
        const role = present(await roleById(tx, { workspaceId: by.id, id }))
        const member = await members.find(tx, accountId, by.id)
        if (!member) throw notFound('no such member of this workspace')
        requireMayReassign(by, member.roleType)
        requireMayGrant(by, role)
        await members.assign(tx, member, { roleId: role.id, roleType: role.type }, act.at)
        await recordAct(tx, act, { workspaceId: by.id, targetId: accountId, detail: { role: id } })
        return role
      }),
  }
}

export type RoleService = ReturnType<typeof createService>
