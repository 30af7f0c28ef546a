import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/members/contract.ts'
import { leaveWorkspace, listMyWorkspaces } from '../../../src/banking/members/contract.ts'
import { listAccounts } from '../../../src/banking/operators/store.ts'
import * as workspaceContract from '../../../src/banking/workspaces/contract.ts'
import { listWorkspaces } from '../../../src/banking/workspaces/store.ts'
import { inTransaction } from '../../../src/database/index.ts'
import { type AccountId, bizId, type RoleId, type WorkspaceId } from '../../../src/kernel/index.ts'
import { callerOf, createWorld, type World } from '../world.ts'

let world: World
let owner: AccountId
let operator: AccountId
let serial = 0
beforeAll(async () => {
  world = await createWorld()
  owner = await world.account('owner@example.test')
  operator = await world.account('operator@example.test', 'SYSTEM')
})
afterAll(() => world.close())

describe('search by part of a name, case-insensitive', () => {
  const name = 'ΝΗΣΟΣ İpek'
  let workspace: string
  beforeAll(async () => {
    workspace = await world.workspaceOf(owner, name)
    await world.database.updateTable('accounts').set({ accountName: name }).where('bizId', '=', owner).execute()
  })
  const spellings = ['ΝΗΣΟΣ', 'νησος', 'νησοσ', 'İpek', 'ipek']

  test.each(spellings)('workspaces.listMembers 200: finds %s', async (accountName) => {
    const context = { as: owner, workspace, query: { accountName } }
    const { items } = await world.call(world.handlers, contract.listMembers, context)
    expect(items.map(({ userBizId }) => userBizId)).toEqual([owner])
  })

  test.each(spellings)('operators.listWorkspaces 200: finds %s', async (workspaceName) => {
    const {
      workspaceName: part,
      startTime: _from,
      endTime: _to,
      ...query
    } = workspaceContract.listWorkspaces.query.parse({ workspaceName })
    const { items } = await listWorkspaces(world.database, { ...query, name: part })
    expect(items.map(({ id }) => id)).toEqual([workspace])
  })
})

describe('search by part of an address, case-insensitive and width-insensitive', () => {
  let workspace: string
  beforeAll(async () => {
    workspace = await world.workspaceOf(owner)
  })
  const spellings = ['owner@', 'OWNER@', 'ｏｗｎｅｒ＠']

  test.each(spellings)('workspaces.listMembers 200: finds %s', async (accountEmail) => {
    const context = { as: owner, workspace, query: { accountEmail } }
    const { items } = await world.call(world.handlers, contract.listMembers, context)
    expect(items.map(({ userBizId }) => userBizId)).toEqual([owner])
  })

  test.each(spellings)('operators.listAccounts 200: finds %s', async (email) => {
    const all = { currentPage: 1, pageSize: 10, sortBy: 'createdAt', sortOrder: 'asc' } as const
    const { items } = await listAccounts(world.database, { ...all, email })
    expect(items.map(({ id }) => id)).toEqual([owner])
  })
})

describe('limits of a membership', () => {
  let workspace: WorkspaceId
  let member: AccountId
  let roleId: RoleId
  const reason = 'a court order'
  beforeEach(async () => {
    workspace = bizId(await world.workspaceOf(owner))
    member = await world.account(`member${++serial}@example.test`)
    roleId = bizId(await world.join(workspace, member, ['wallet:read', 'transfer:create']))
  })
  const limit = (policyConfig: object | null) => {
    const body = { userBizId: member, policyConfig, reason }
    const context = { as: callerOf(operator, 'SYSTEM'), params: { workspace_id: workspace }, body }
    return world.call(world.handlers, contract.limitMember, context)
  }
  const leave = () => world.call(world.handlers, leaveWorkspace, { as: member, workspace })
  const rejoin = () => {
    const joining = { workspaceId: workspace, accountId: member, roleId, joinSource: 'INVITATION' } as const
    const membership = { ...joining, grantedBy: null }
    return inTransaction(world.database, (tx) => world.members.memberships.add(tx, membership, world.clock.now()))
  }
  const membership = async () => {
    const [only] = await world.call(world.handlers, listMyWorkspaces, { as: member })
    return only
  }

  test('workspaces.leave 200: limits apply again after rejoining', async () => {
    await limit({ readOnly: true })
    for (const _ of ['once', 'again']) {
      await leave()
      expect(await membership()).toBeUndefined()
      expect(await rejoin()).toBe(true)
      expect(await membership()).toMatchObject({ policyConfig: { readOnly: true }, isDefault: true })
      const { permissions } = await world.members.enter(callerOf(member), workspace)
      expect([...permissions]).toEqual(['wallet:read'])
    }
  })

  test('workspaces.leave 200: an ineligible member does not get a default after rejoining', async () => {
    await limit({ defaultEligible: false })
    await leave()
    await rejoin()
    expect(await membership()).toMatchObject({ isDefault: false, defaultEligible: false })
  })

  test('workspaces.leave 200: replaces limits of an earlier membership', async () => {
    const policyConfig = JSON.stringify({ enterable: false })
    const former = { workspaceBizId: workspace, accountBizId: member, policyConfig }
    await world.database.insertInto('former_membership_limits').values(former).execute()
    await limit({ readOnly: true })
    await leave()
    await rejoin()
    expect(await membership()).toMatchObject({ policyConfig: { readOnly: true } })
  })

  test('workspaces.limitMember 200: affects no other member and no other workspace', async () => {
    const other = await world.account(`other${++serial}@example.test`)
    await world.join(workspace, other, ['transfer:create'])
    const elsewhere = await world.workspaceOf(member)
    await limit({ readOnly: true })
    const permissionsOf = async (who: AccountId, where: string) =>
      (await world.members.enter(callerOf(who), where)).permissions
    expect([...(await permissionsOf(other, workspace))]).toEqual(['transfer:create'])
    expect(await permissionsOf(member, elsewhere)).toContain('transfer:create')
  })

  test('workspaces.leave 200: joining another workspace does not use up former limits', async () => {
    await limit({ readOnly: true })
    await leave()
    const elsewhere = await world.workspaceOf(owner, 'Elsewhere')
    await world.join(elsewhere, member, ['transfer:create'])
    const { permissions } = await world.members.enter(callerOf(member), elsewhere)
    expect([...permissions]).toEqual(['transfer:create'])
    await rejoin()
    expect([...(await world.members.enter(callerOf(member), workspace)).permissions]).toEqual(['wallet:read'])
  })

  test('workspaces.limitMember 200: removed limits do not return after rejoining', async () => {
    await limit({ readOnly: true })
    await leave()
    await rejoin()
    await limit(null)
    await leave()
    await rejoin()
    expect(await membership()).toMatchObject({ policyConfig: null })
  })
})
