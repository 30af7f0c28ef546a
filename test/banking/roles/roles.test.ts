import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as memberContract from '../../../src/banking/members/contract.ts'
import * as contract from '../../../src/banking/roles/contract.ts'
import { createRoles } from '../../../src/banking/roles/index.ts'
import { permissionTable, workspacePermissions } from '../../../src/contract/index.ts'
import {
  type AccountId,
  addMs,
  bizId,
  type HandlerTable,
  type Permission,
  type RoleId,
  toDate,
  toIso,
} from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import {
  accessSettings,
  alwaysOpen,
  callerOf,
  createWorld,
  refusalOf,
  transactionOf,
  type World,
  words,
} from '../world.ts'

let world: World
let handlers: HandlerTable
let owner: AccountId
let workspace: string
let serial = 0
const settings = { ...accessSettings.roles }

beforeAll(async () => {
  world = await createWorld()
  handlers = createRoles({
    assertSessionOpen: alwaysOpen,
    notices: world.members.notices,
    database: world.database,
    transaction: transactionOf(world.database),
    words,
    ids: systemIds,
    members: world.members.memberships,
    permissionTable: permissionTable.workspace,
    settings,
  }).handlers
})
afterAll(() => world.close())
beforeEach(async () => {
  owner = await world.account(`owner${++serial}@example.test`)
  workspace = await world.workspaceOf(owner)
})

function newAccount() {
  return world.account(`account${++serial}@example.test`)
}
function create(as: AccountId, roleName: string, permissionCodes: Permission[] = []) {
  return world.call(handlers, contract.createRole, { as, workspace, body: { roleName, permissionCodes } })
}
function change(as: AccountId, userBizId: string, roleBizId: string) {
  return world.call(handlers, contract.changeMemberRole, { as, workspace, body: { userBizId, roleBizId } })
}
async function ownerRole() {
  const roles = await world.call(handlers, contract.listRoles, { as: owner, workspace })
  return roles[0]?.bizId ?? ''
}

test('roles.create and setPermissions 400 VALIDATION.INVALID_PARAMETER: name the unknown permission', async () => {
  const refusal = { code: 'VALIDATION.INVALID_PARAMETER', detail: { field: 'permissionCodes.1' } }
  const permissionCodes: Permission[] = ['wallet:read', 'wallet:own', 'account:read']
  await expect(create(owner, 'Unknown', permissionCodes)).rejects.toMatchObject(refusal)
  const { bizId: roleBizId } = await create(owner, 'Known')
  const body = { roleBizId, permissionCodes }
  const result = world.call(handlers, contract.setRolePermissions, { as: owner, workspace, body })
  await expect(result).rejects.toMatchObject(refusal)
})

describe('roles', () => {
  test('roles.create, read, update, setPermissions and delete 200: with audit entries', async () => {
    const body = { roleName: 'Clerk', description: 'Counts', permissionCodes: ['wallet:read', 'role:read'] }
    const created = await world.call(handlers, contract.createRole, { as: owner, workspace, body })
    expect(created).toMatchObject({
      ...body,
      permissionCodes: ['role:read', 'wallet:read'],
      workspaceBizId: workspace,
      roleType: { code: 'CUSTOM', value: 10010902 },
    })
    const params = { role_id: created.bizId }
    expect(await world.call(handlers, contract.readRole, { as: owner, workspace, params })).toEqual(created)
    world.clock.advance(1_000)
    const changedAt = toIso(world.clock.now())
    const renamed = await world.call(handlers, contract.updateRole, {
      as: owner,
      workspace,
      body: { roleBizId: created.bizId, roleName: 'CLERK', description: '' },
    })
    const { createdAt } = created
    expect(renamed).toMatchObject({ roleName: 'CLERK', description: '', createdAt, updatedAt: changedAt })
    await world.call(handlers, contract.setRolePermissions, {
      as: owner,
      workspace,
      body: { roleBizId: created.bizId, permissionCodes: ['file:read'] },
    })
    expect(await world.call(handlers, contract.listRolePermissions, { as: owner, workspace, params })).toEqual([
      'file:read',
    ])
    await world.call(handlers, contract.deleteRole, { as: owner, workspace, body: { roleBizId: created.bizId } })
    expect(await refusalOf(world.call(handlers, contract.readRole, { as: owner, workspace, params }))).toBe(
      'RESOURCE.NOT_FOUND',
    )
    const entries = await world.database
      .selectFrom('audit_log')
      .select(['action', 'detail'])
      .where('actorBizId', '=', owner)
      .orderBy('action')
      .execute()
    expect(entries).toEqual([
      { action: 'roles.create', detail: { permissions: 'role:read,wallet:read' } },
      { action: 'roles.delete', detail: {} },
      { action: 'roles.setPermissions', detail: { permissions: 'file:read' } },
      { action: 'roles.update', detail: {} },
    ])
  })

  test('roles.list 200: OWNER first, with all permissions, then by name', async () => {
    await create(owner, 'beta')
    await create(owner, 'Alpha')
    const roles = await world.call(handlers, contract.listRoles, { as: owner, workspace, locale: 'zh' })
    expect(roles.map((role) => role.roleName)).toEqual(['Owner', 'Alpha', 'beta'])
    expect(roles[0]).toMatchObject({ roleType: { label: '所有者' }, permissionCodes: [...workspacePermissions] })
  })

  test('roles.create and update 409 STATE.CONFLICT: names are unique, case-insensitive', async () => {
    const clerk = await create(owner, 'Clerk')
    expect(await refusalOf(create(owner, 'clerk'))).toBe('STATE.CONFLICT')
    expect(await refusalOf(create(owner, 'OWNER'))).toBe('STATE.CONFLICT')
    const other = await create(owner, 'Other')
    const rename = (roleBizId: string, roleName: string) =>
      refusalOf(world.call(handlers, contract.updateRole, { as: owner, workspace, body: { roleBizId, roleName } }))
    expect(await rename(other.bizId, 'CLERK')).toBe('STATE.CONFLICT')
    expect(await rename(clerk.bizId, 'CLERK')).toBe('none')
    const results = await Promise.all([refusalOf(create(owner, 'Same')), refusalOf(create(owner, 'same'))])
    expect(results.sort()).toEqual(['STATE.CONFLICT', 'none'])
  })

  test('roles.update 200: a name of a role in another workspace', async () => {
    const elsewhere = await world.workspaceOf(owner, 'Elsewhere')
    const body = { roleName: 'Treasurer', permissionCodes: [] }
    await world.call(handlers, contract.createRole, { as: owner, workspace: elsewhere, body })
    const { bizId: roleBizId } = await create(owner, 'Clerk')
    const renamed = { roleBizId, roleName: 'Treasurer' }
    expect(await world.call(handlers, contract.updateRole, { as: owner, workspace, body: renamed })).toMatchObject({
      roleName: 'Treasurer',
    })
  })

  test('roles.create 409 STATE.CONFLICT: maximum number of roles, under parallel calls', async () => {
    settings.maxPerWorkspace = 3
    const results = await Promise.all(['A', 'B', 'C', 'D'].map((name) => refusalOf(create(owner, name))))
    expect(results.sort()).toEqual(['STATE.CONFLICT', 'STATE.CONFLICT', 'none', 'none'])
    settings.maxPerWorkspace = accessSettings.roles.maxPerWorkspace
  })

  test('roles.update, setPermissions and delete 403 ACCESS.PERMISSION_DENIED: the OWNER role', async () => {
    const roleBizId = await ownerRole()
    const calls = [
      world.call(handlers, contract.updateRole, { as: owner, workspace, body: { roleBizId, roleName: 'King' } }),
      world.call(handlers, contract.setRolePermissions, {
        as: owner,
        workspace,
        body: { roleBizId, permissionCodes: [] },
      }),
      world.call(handlers, contract.deleteRole, { as: owner, workspace, body: { roleBizId } }),
    ]
    expect(await Promise.all(calls.map(refusalOf))).toEqual(Array(3).fill('ACCESS.PERMISSION_DENIED'))
  })

  test('roles 404 RESOURCE.NOT_FOUND: role of another workspace', async () => {
    const stranger = await newAccount()
    const elsewhere = await world.workspaceOf(stranger)
    const foreign = await world.call(handlers, contract.createRole, {
      as: stranger,
      workspace: elsewhere,
      body: { roleName: 'Theirs', permissionCodes: [] },
    })
    for (const id of [foreign.bizId, systemIds.next(), 'x', "' OR 1=1 --", '%00']) {
      const params = { role_id: id }
      expect(await refusalOf(world.call(handlers, contract.readRole, { as: owner, workspace, params }))).toBe(
        'RESOURCE.NOT_FOUND',
      )
      expect(
        await refusalOf(world.call(handlers, contract.listRolePermissions, { as: owner, workspace, params })),
      ).toBe('RESOURCE.NOT_FOUND')
    }
    const roleBizId = foreign.bizId
    const calls = [
      world.call(handlers, contract.updateRole, { as: owner, workspace, body: { roleBizId, roleName: 'x' } }),
      world.call(handlers, contract.setRolePermissions, {
        as: owner,
        workspace,
        body: { roleBizId, permissionCodes: [] },
      }),
      world.call(handlers, contract.deleteRole, { as: owner, workspace, body: { roleBizId } }),
      change(owner, owner, roleBizId),
    ]
    expect(await Promise.all(calls.map(refusalOf))).toEqual(Array(4).fill('RESOURCE.NOT_FOUND'))
  })
})

describe('granting permissions', () => {
  test('roles.create, setPermissions and changeMember 403: the caller lacks a permission', async () => {
    const manager = await newAccount()
    const permissions: Permission[] = ['role:read', 'role:manage', 'member:manage', 'wallet:read']
    const managers = await world.join(workspace, manager, permissions)
    const strong = await create(owner, 'Strong', ['wallet:read', 'transfer:create'])
    expect(await refusalOf(create(manager, 'Mine', ['transfer:create']))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(create(manager, 'Mine', ['wallet:read']))).toBe('none')
    const set = (roleBizId: string, permissionCodes: Permission[]) =>
      refusalOf(
        world.call(handlers, contract.setRolePermissions, {
          as: manager,
          workspace,
          body: { roleBizId, permissionCodes },
        }),
      )
    expect(await set(managers, [...permissions, 'api-key:manage'])).toBe('ACCESS.PERMISSION_DENIED')
    expect(await set(strong.bizId, ['transfer:create', 'role:read'])).toBe('none')
    expect(await set(strong.bizId, ['transfer:create', 'file:read'])).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(change(manager, manager, strong.bizId))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(change(manager, manager, await ownerRole()))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(change(manager, owner, managers))).toBe('ACCESS.PERMISSION_DENIED')
  })

  test('roles.changeMember 403: all permissions are not sufficient to grant OWNER', async () => {
    const manager = await newAccount()
    await world.join(workspace, manager, [...workspacePermissions])
    expect(await refusalOf(change(manager, manager, await ownerRole()))).toBe('ACCESS.PERMISSION_DENIED')
  })
})

describe('permissions lost during the request', () => {
  test('roles.changeMember 403: a former owner with all permissions cannot grant OWNER', async () => {
    const other = await newAccount()
    await world.join(workspace, other, [])
    const all = await create(owner, 'All', [...workspacePermissions])
    await change(owner, other, await ownerRole())
    const access = await world.members.enter(callerOf(other), workspace)
    await change(owner, other, all.bizId)
    const body = { userBizId: other, roleBizId: await ownerRole() }
    const callWithStaleAccess = world.call(handlers, contract.changeMemberRole, { as: other, access, body })
    expect(await refusalOf(callWithStaleAccess)).toBe('ACCESS.PERMISSION_DENIED')
  })

  test('roles.changeMember, setPermissions and create 403: a former owner with stale access', async () => {
    const other = await newAccount()
    await world.join(workspace, other, [])
    const clerk = await create(owner, 'Clerk', ['role:read'])
    await change(owner, other, await ownerRole())
    const access = await world.members.enter(callerOf(other), workspace)
    await change(owner, other, clerk.bizId)
    const callWithStaleAccess = (operation: Parameters<World['call']>[1], body: object) =>
      refusalOf(world.call(handlers, operation, { as: other, access, body }))
    const roleBizId = clerk.bizId
    const results = await Promise.all([
      callWithStaleAccess(contract.changeMemberRole, { userBizId: other, roleBizId: await ownerRole() }),
      callWithStaleAccess(contract.setRolePermissions, { roleBizId, permissionCodes: ['role:read', 'role:manage'] }),
      callWithStaleAccess(contract.createRole, { roleName: 'Late', permissionCodes: ['role:manage'] }),
    ])
    expect(results).toEqual(Array(3).fill('ACCESS.PERMISSION_DENIED'))
    expect([...(await world.members.enter(callerOf(other), workspace)).permissions]).toEqual(['role:read'])
  })
})

describe('members', () => {
  test('roles.changeMember 200: changes no membership of another workspace', async () => {
    const member = await newAccount()
    const elsewhere = await world.workspaceOf(owner, 'Elsewhere')
    const there = await world.join(elsewhere, member, ['wallet:read'])
    await world.join(workspace, member, ['role:read'])
    const here = (await create(owner, 'Clerk', ['transfer:read'])).bizId
    await change(owner, member, here)
    const { rows } = await sql<{ role: string }>`SELECT role_biz_id AS role FROM memberships
      WHERE account_biz_id = ${member} ORDER BY role_biz_id = ${here}`.execute(world.database)
    expect(rows.map(({ role }) => role)).toEqual([there, here])
  })

  test('workspaces.leave 422 WORKSPACE.LAST_OWNER: a suspended owner does not count', async () => {
    const other = await newAccount()
    await world.join(workspace, other, [])
    await change(owner, other, await ownerRole())
    const suspend = world.database.updateTable('accounts').set({ accountStatus: 'SUSPENDED' })
    await suspend.where('bizId', '=', other).execute()
    const leave = (as: AccountId) =>
      refusalOf(world.call(world.handlers, memberContract.leaveWorkspace, { as, workspace }))
    expect(await leave(owner)).toBe('WORKSPACE.LAST_OWNER')
    expect(await leave(other)).toBe('none')
  })

  test('roles.changeMember 200: takes effect immediately', async () => {
    const member = await newAccount()
    await world.join(workspace, member, ['wallet:read'])
    const clerk = await create(owner, 'Clerk', ['file:read'])
    expect(await change(owner, member, clerk.bizId)).toMatchObject({
      userBizId: member,
      workspaceRoleBizId: clerk.bizId,
      workspaceRoleName: 'Clerk',
      isOwner: false,
    })
    const mine = await world.call(world.handlers, memberContract.listMyWorkspaces, { as: member })
    expect(mine[0]).toMatchObject({ workspaceRoleName: 'Clerk', isOwner: false })
    const stranger = await newAccount()
    expect(await refusalOf(change(owner, stranger, clerk.bizId))).toBe('RESOURCE.NOT_FOUND')
  })

  test('roles.changeMember 422 WORKSPACE.LAST_OWNER: also if two owners demote each other', async () => {
    const clerk = await create(owner, 'Clerk')
    expect(await refusalOf(change(owner, owner, clerk.bizId))).toBe('WORKSPACE.LAST_OWNER')
    const second = await newAccount()
    await world.join(workspace, second, [])
    const owners = await ownerRole()
    expect((await change(owner, second, owners)).isOwner).toBe(true)
    const results = await Promise.all([
      refusalOf(change(owner, second, clerk.bizId)),
      refusalOf(change(second, owner, clerk.bizId)),
    ])
    expect(results.filter((code) => code === 'none')).toHaveLength(1)
  })

  test('roles.delete 409 STATE.CONFLICT: a member holds the role, also under concurrent assignment', async () => {
    const member = await newAccount()
    const heldRole = await world.join(workspace, member, ['wallet:read'])
    const remove = (roleBizId: string) =>
      refusalOf(world.call(handlers, contract.deleteRole, { as: owner, workspace, body: { roleBizId } }))
    expect(await remove(heldRole)).toBe('STATE.CONFLICT')
    for (let round = 0; round < 5; round++) {
      const role = await create(owner, `Role ${round}`)
      const [removed, assigned] = await Promise.all([remove(role.bizId), refusalOf(change(owner, member, role.bizId))])
      expect([removed, assigned]).toContain('none')
      expect([removed, assigned].filter((code) => code === 'none')).toHaveLength(1)
    }
  })
})

test('roles.delete 200: ignores declined and expired invitations', async () => {
  const offer = (role: RoleId, status: 'PENDING' | 'DECLINED', lifetimeMs: number) =>
    world.database
      .insertInto('invitations')
      .values({
        workspaceBizId: bizId<'workspace'>(workspace),
        bizId: systemIds.next<'invitation'>(),
        inviteeEmail: `${status}@example.test`.toLowerCase(),
        roleBizId: role,
        roleName: 'Offered',
        inviterBizId: owner,
        invitationStatus: status,
        declineReason: null,
        message: null,
        expiresAt: toDate(addMs(world.clock.now(), lifetimeMs)),
        createdAt: toDate(world.clock.now()),
        updatedAt: toDate(world.clock.now()),
      })
      .execute()
  const deleteOffered = async (status: 'PENDING' | 'DECLINED', lifetimeMs: number) => {
    const created = await create(owner, `${status} ${lifetimeMs}`)
    await offer(bizId<'role'>(created.bizId), status, lifetimeMs)
    return refusalOf(
      world.call(handlers, contract.deleteRole, { as: owner, workspace, body: { roleBizId: created.bizId } }),
    )
  }
  expect(await deleteOffered('DECLINED', 60_000)).toBe('none')
  expect(await deleteOffered('PENDING', 0)).toBe('none')
})

test('roles.permissionTree 200: contains each permission once, in the caller’s language', async () => {
  const tree = await world.call(handlers, contract.readPermissionTree, { as: owner, workspace, locale: 'ja' })
  const nodes = tree.flatMap((root) => [root, ...root.children])
  expect(nodes.map((node) => node.permissionCode)).toEqual([...workspacePermissions])
  expect(new Set(nodes.map((node) => node.bizId)).size).toBe(nodes.length)
  const transfer = tree.find((node) => node.permissionGroup === 'transfer')
  expect(transfer).toMatchObject({
    permissionCode: 'transfer:read',
    permissionName: '振替の閲覧',
    parentBizId: null,
    isEnabled: true,
    children: [{ permissionCode: 'transfer:create', parentBizId: transfer?.bizId }],
  })
})
