import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { suspendBroughtIn } from '../../../src/banking/members/recovery.ts'
import { deleteGrantsBefore, suspendMembership } from '../../../src/banking/members/recovery-store.ts'
import * as roles from '../../../src/banking/roles/contract.ts'
import { suspendGrantsOf } from '../../../src/banking/roles/grant-store.ts'
import { createRoles } from '../../../src/banking/roles/index.ts'
import { permissionTable } from '../../../src/contract/index.ts'
import { type AccountId, addMs, bizId, days, type HandlerTable, type WorkspaceId } from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { accessSettings, alwaysOpen, createWorld, refusalOf, transactionOf, type World, words } from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const windowMs = days(3)

describe.each(stores)('members and roles that a recovered account has brought in, on $name', (store) => {
  let world: World
  let handlers: HandlerTable
  let victim: AccountId
  let workspace: WorkspaceId
  let owners: string
  let serial = 0

  beforeAll(async () => {
    world = await createWorld(async () => ({ ...store, close: async () => undefined }))
    handlers = createRoles({
      database: world.database,
      transaction: transactionOf(world.database),
      words,
      ids: systemIds,
      members: world.members.memberships,
      notices: world.members.notices,
      assertSessionOpen: alwaysOpen,
      permissionTable: permissionTable.workspace,
      settings: accessSettings.roles,
    }).handlers
  })
  const newAccount = () => world.account(`person${++serial}@recovery.test`)
  const roleOf = async (as: AccountId, permissionCodes: string[]): Promise<string> => {
    const body = { roleName: `role ${++serial}`, permissionCodes }
    return (await world.call(handlers, roles.createRole, { as, workspace, body })).bizId
  }
  const codesOf = (roleBizId: string): Promise<string[]> =>
    world.call(handlers, roles.listRolePermissions, { as: victim, workspace, params: { role_id: roleBizId } })
  const setPermissions = (as: AccountId, roleBizId: string, permissionCodes: string[]) =>
    world.call(handlers, roles.setRolePermissions, { as, workspace, body: { roleBizId, permissionCodes } })
  const assign = (as: AccountId, userBizId: AccountId, roleBizId: string) =>
    world.call(handlers, roles.changeMemberRole, { as, workspace, body: { userBizId, roleBizId } })
  const bringIn = async (grantedBy: AccountId, roleBizId: string): Promise<AccountId> => {
    const accountId = await newAccount()
    const member = { workspaceId: workspace, accountId, roleId: bizId<'role'>(roleBizId), grantedBy }
    const add = { ...member, joinSource: 'INVITATION' } as const
    await world.database.transaction().execute((tx) => world.members.memberships.add(tx, add, world.clock.now()))
    return accountId
  }
  const recover = (accountId = victim) => {
    const at = world.clock.now()
    const recovered = { accountId, since: addMs(at, -windowMs), at }
    return world.database.transaction().execute(async (tx) => ({
      members: await suspendBroughtIn(tx, recovered),
      roles: await suspendGrantsOf(tx, recovered),
    }))
  }
  const canEnter = async (as: AccountId) =>
    (await refusalOf(world.members.enter({ accountId: as } as never, workspace))) === 'none'

  beforeEach(async () => {
    victim = await newAccount()
    workspace = bizId<'workspace'>(await world.workspaceOf(victim))
    const found = await world.call(handlers, roles.listRoles, { as: victim, workspace })
    owners = found.find(({ roleType }) => roleType.code === 'OWNER')?.bizId ?? ''
  })

  test('password.reset 200: suspends the members of the window, and those whom they have brought in', async () => {
    const readers = await roleOf(victim, ['wallet:read'])
    const honest = await bringIn(victim, readers)
    world.clock.advance(windowMs)
    const stranger = await bringIn(victim, owners)
    const friend = await bringIn(stranger, readers)
    const other = await bringIn(honest, readers)
    const { members } = await recover()
    expect(members.toSorted()).toEqual([stranger, friend].toSorted())
    expect(await canEnter(stranger)).toBe(false)
    expect(await canEnter(friend)).toBe(false)
    for (const member of [victim, honest, other]) expect(await canEnter(member)).toBe(true)
    expect(await recover()).toEqual({ members: [], roles: [] })
  })

  test('password.reset 200: a changed role of an older member counts only if it gives more', async () => {
    const readers = await roleOf(victim, ['wallet:read'])
    const finance = await roleOf(victim, ['wallet:read', 'transfer:create'])
    const [widened, narrowed] = [await bringIn(victim, readers), await bringIn(victim, finance)]
    world.clock.advance(windowMs)
    await assign(victim, widened, finance)
    await assign(victim, narrowed, readers)
    expect((await recover()).members).toEqual([widened])
    const restore = (as: AccountId) =>
      refusalOf(world.call(handlers, roles.restoreMember, { as, workspace, body: { userBizId: widened } }))
    expect(await restore(narrowed)).toBe('ACCESS.PERMISSION_DENIED')
    expect(await restore(victim)).toBe('none')
    expect(await canEnter(widened)).toBe(true)
    expect(await restore(victim)).toBe('STATE.CONFLICT')
  })

  test('password.reset 200: takes only the permissions that were added in the window from a role', async () => {
    const finance = await roleOf(victim, ['wallet:read', 'transfer:create'])
    world.clock.advance(windowMs)
    await setPermissions(victim, finance, ['wallet:read', 'transfer:create', 'withdrawal:create'])
    const accomplice = await bringIn(victim, owners)
    const added = await roleOf(accomplice, ['withdrawal:create'])
    expect((await recover()).roles.toSorted()).toEqual([finance, added].toSorted())
    expect((await codesOf(finance)).toSorted()).toEqual(['transfer:create', 'wallet:read'])
    expect(await codesOf(added)).toEqual([])
    const restore = { as: victim, workspace, body: { roleBizId: finance } }
    await world.call(handlers, roles.restoreRolePermissions, restore)
    expect(await codesOf(finance)).toContain('withdrawal:create')
    await setPermissions(victim, added, [])
    const replaced = world.call(handlers, roles.restoreRolePermissions, { ...restore, body: { roleBizId: added } })
    expect(await refusalOf(replaced)).toBe('STATE.CONFLICT')
  })

  test('password.reset 200: the last owner of a workspace stays, and the account itself', async () => {
    const successor = await bringIn(victim, owners)
    const readers = await roleOf(victim, ['wallet:read'])
    await assign(successor, victim, readers)
    expect((await recover()).members).toEqual([])
    await assign(successor, victim, owners)
    expect((await recover()).members).toEqual([successor])
    expect(await canEnter(victim)).toBe(true)
  })

  const leave = (accountId: AccountId) =>
    world.database.transaction().execute(async (tx) => {
      const member = await world.members.memberships.find(tx, accountId, workspace)
      if (member) await world.members.memberships.remove(tx, member)
    })

  test('password.reset 200: a member who leaves keeps nobody, and no permission, from the suspension', async () => {
    const readers = await roleOf(victim, ['wallet:read'])
    const inviters = await roleOf(victim, ['role:manage', 'wallet:read', 'transfer:create'])
    world.clock.advance(windowMs)
    const stranger = await bringIn(victim, inviters)
    const friend = await bringIn(stranger, inviters)
    const friendOfFriend = await bringIn(friend, readers)
    await setPermissions(stranger, readers, ['wallet:read', 'transfer:create'])
    for (const account of [stranger, friend]) await leave(account)
    const { members, roles: suspended } = await recover()
    expect(members).toEqual([friendOfFriend])
    expect(suspended).toEqual([readers])
    expect(await codesOf(readers)).toEqual(['wallet:read'])
  })

  test('password.reset 200: members who change each other’s role stay in the suspension', async () => {
    const inviters = await roleOf(victim, ['role:manage', 'member:manage', 'wallet:read'])
    const readers = await roleOf(victim, ['wallet:read'])
    const stranger = await bringIn(victim, inviters)
    const friend = await bringIn(stranger, inviters)
    for (const role of [readers, inviters]) await assign(friend, stranger, role)
    expect((await recover()).members.toSorted()).toEqual([stranger, friend].toSorted())
    const restore = { as: stranger, workspace, body: { roleBizId: inviters } }
    expect(await refusalOf(world.call(handlers, roles.restoreRolePermissions, restore))).toBe(
      'ACCESS.PERMISSION_DENIED',
    )
  })

  test('password.reset 200: what a widened role gave its members is suspended with what they gave', async () => {
    const old = ['wallet:read', 'transfer:create']
    const clerks = await roleOf(victim, old)
    const clerk = await bringIn(victim, clerks)
    world.clock.advance(windowMs)
    await setPermissions(victim, clerks, [...old, 'role:manage', 'member:manage', 'invitation:manage'])
    const archive = await roleOf(clerk, ['transfer:create', 'role:manage', 'member:manage'])
    const friend = await bringIn(clerk, archive)
    await setPermissions(victim, clerks, old)
    await setPermissions(victim, clerks, [...old, 'role:manage', 'member:manage', 'invitation:manage'])
    const { members, roles: suspended } = await recover()
    expect(members).toEqual([friend])
    expect(suspended.toSorted()).toEqual([archive, clerks].toSorted())
    expect(await codesOf(archive)).toEqual([])
    expect((await codesOf(clerks)).toSorted()).toEqual(old.toSorted())
    expect(await canEnter(clerk)).toBe(true)
  })

  test('roles.restoreMember 403: a member whose old right is grown by the account restores nobody', async () => {
    const managers = await roleOf(victim, ['wallet:read', 'role:manage', 'member:manage'])
    const manager = await bringIn(victim, managers)
    world.clock.advance(windowMs)
    await setPermissions(victim, managers, ['wallet:read', 'role:manage', 'member:manage', 'invitation:manage'])
    const readers = await roleOf(manager, ['wallet:read'])
    const friend = await bringIn(manager, readers)
    expect((await recover()).members).toEqual([friend])
    const restore = (as: AccountId) =>
      refusalOf(world.call(handlers, roles.restoreMember, { as, workspace, body: { userBizId: friend } }))
    expect(await restore(manager)).toBe('ACCESS.PERMISSION_DENIED')
    expect(await restore(victim)).toBe('none')
  })

  test('password.reset 200: a member who joins a widened role keeps nobody in the workspace', async () => {
    const honest = await bringIn(victim, owners)
    const clerks = await roleOf(victim, ['wallet:read'])
    world.clock.advance(windowMs)
    await setPermissions(victim, clerks, ['wallet:read', 'role:manage', 'member:manage'])
    const clerk = await bringIn(honest, clerks)
    const friend = await bringIn(clerk, await roleOf(clerk, ['wallet:read']))
    expect((await recover()).members).toEqual([friend])
    expect(await canEnter(clerk)).toBe(true)
  })

  test('password.reset 200: a role that another owner gave later survives, with what came after it', async () => {
    const honest = await bringIn(victim, owners)
    world.clock.advance(windowMs)
    const readers = await roleOf(honest, ['wallet:read', 'role:manage', 'member:manage'])
    const lead = await bringIn(victim, readers)
    const early = await bringIn(lead, readers)
    world.clock.advance(1)
    await assign(honest, lead, owners)
    const late = await bringIn(lead, readers)
    expect((await recover()).members).toEqual([early])
    for (const member of [lead, late]) expect(await canEnter(member)).toBe(true)
    expect((await recover(honest)).members.toSorted()).toEqual([lead, late].toSorted())
  })

  test('password.reset 200: leaves the roles of other workspaces, also those of suspended members', async () => {
    const reader = await bringIn(victim, await roleOf(victim, ['role:manage', 'member:read']))
    const role = await roleOf(reader, ['member:read'])
    const member = { workspaceId: workspace, accountId: reader }
    await world.database.transaction().execute((tx) => suspendMembership(tx, member, world.clock.now()))
    expect((await recover(await newAccount())).roles).toEqual([])
    expect(await codesOf(role)).toEqual(['member:read'])
  })

  test('members.deleteFormer: deletes the grants before the window and keeps those in it', async () => {
    const readers = await roleOf(victim, ['wallet:read'])
    await bringIn(victim, readers)
    world.clock.advance(windowMs)
    const stranger = await bringIn(victim, readers)
    await deleteGrantsBefore(world.database, addMs(world.clock.now(), -windowMs))
    const grants = world.database.selectFrom('membership_grants').where('workspaceBizId', '=', workspace)
    expect(await grants.select('granteeBizId as id').execute()).toEqual([{ id: stranger }])
    expect((await recover()).members).toEqual([stranger])
  })

  test('password.reset 200: a member whom a suspended one adds at the same time is suspended or refused', async () => {
    const inviters = await roleOf(victim, ['role:manage', 'wallet:read'])
    const stranger = await bringIn(victim, inviters)
    const access = await world.members.enter({ accountId: stranger } as never, workspace)
    const body = { roleName: `role ${++serial}`, permissionCodes: ['wallet:read'] }
    const created = world.call(handlers, roles.createRole, { as: stranger, workspace, access, body })
    const [outcome, { roles: suspended }] = await Promise.all([refusalOf(created), recover()])
    if (outcome === 'none') expect(suspended).toContain((await created).bizId)
    else expect(outcome).toBe('ACCESS.PERMISSION_DENIED')
  })
})
