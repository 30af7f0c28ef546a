import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import * as memberContract from '../../../src/banking/members/contract.ts'
import * as contract from '../../../src/banking/workspaces/contract.ts'
import { workspacePermissions } from '../../../src/contract/index.ts'
import { type AccountId, days, toIso } from '../../../src/kernel/index.ts'
import { accessSettings, callerOf, createWorld, refusalOf, type World } from '../world.ts'

let world: World
let owner: AccountId
let other: AccountId
beforeAll(async () => {
  world = await createWorld()
  owner = await world.account('owner@example.test')
  other = await world.account('other@example.test')
})
afterAll(() => world.close())

function enter(account: AccountId, workspace: string | null) {
  return world.members.enter(callerOf(account), workspace)
}
function setStatus(workspace: string, status: 'ACTIVE' | 'FROZEN') {
  return world.database
    .updateTable('workspaces')
    .set({ workspaceStatus: status })
    .where('bizId', '=', workspace as never)
    .execute()
}
function setPolicy(workspace: string, config: object | null) {
  return world.database
    .updateTable('memberships')
    .set({ policyConfig: config && JSON.stringify(config) })
    .where('workspaceBizId', '=', workspace as never)
    .execute()
}

describe('access to a workspace', () => {
  test('enter 400 ACCESS.WORKSPACE_REQUIRED: account without a workspace', async () => {
    const nobody = await world.account('nobody@example.test')
    expect(await refusalOf(enter(nobody, null))).toBe('ACCESS.WORKSPACE_REQUIRED')
  })

  test('enter 403 ACCESS.PERMISSION_DENIED: unknown, malformed or foreign workspace', async () => {
    const mine = await world.workspaceOf(owner)
    for (const id of ['01990000-0000-7000-8000-0000000000ff', 'x', '', "' OR 1=1", mine.toUpperCase(), mine]) {
      expect(await refusalOf(enter(other, id)), id).toBe('ACCESS.PERMISSION_DENIED')
    }
    expect((await enter(owner, mine)).isOwner).toBe(true)
  })

  test('enter: an owner has all permissions, a member those of the current role', async () => {
    const workspace = await world.workspaceOf(owner)
    const role = await world.join(workspace, other, ['wallet:read', 'nothing:known'])
    expect([...(await enter(owner, workspace)).permissions]).toEqual([...workspacePermissions])
    expect([...(await enter(other, workspace)).permissions]).toEqual(['wallet:read'])
    await world.database
      .updateTable('roles')
      .set({ permissionCodes: ['transfer:read'] })
      .where('bizId', '=', role as never)
      .execute()
    const access = await enter(other, workspace)
    expect([...access.permissions]).toEqual(['transfer:read'])
    expect(access.isOwner).toBe(false)
  })

  test('enter 403 ACCESS.PERMISSION_DENIED: frozen workspace, also as the default', async () => {
    const account = await world.account('frozen@example.test')
    const first = await world.workspaceOf(account)
    const second = await world.workspaceOf(account)
    expect((await enter(account, null)).id).toBe(first)
    await setStatus(first, 'FROZEN')
    expect(await refusalOf(enter(account, first))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(enter(account, null))).toBe('ACCESS.PERMISSION_DENIED')
    expect((await enter(account, second)).id).toBe(second)
  })

  test('enter: the oldest membership without a default', async () => {
    const account = await world.account('aged@example.test')
    const first = await world.workspaceOf(account)
    world.clock.advance(days(1))
    await world.workspaceOf(account)
    await world.database.updateTable('memberships').set({ isDefault: false }).execute()
    expect((await enter(account, null)).id).toBe(first)
  })

  test('enter: applies policyConfig; invalid limits are the strictest', async () => {
    const account = await world.account('limited@example.test')
    const workspace = await world.workspaceOf(account)
    await setPolicy(workspace, { readOnly: true })
    const reads = workspacePermissions.filter((code) => code.endsWith(':read'))
    expect([...(await enter(account, workspace)).permissions]).toEqual(reads)
    for (const config of [{ enterable: false }, { enterable: 'yes' }, []]) {
      await setPolicy(workspace, config)
      expect(await refusalOf(enter(account, workspace))).toBe('ACCESS.PERMISSION_DENIED')
    }
  })
})

describe('memberships', () => {
  test('workspaces.mine 200: memberships with their limits', async () => {
    const account = await world.account('lister@example.test')
    const { handlers } = world
    const first = await world.workspaceOf(account, 'First')
    const second = await world.workspaceOf(account, 'Second', 'SANDBOX')
    await setStatus(second, 'FROZEN')
    const mine = await world.call(handlers, memberContract.listMyWorkspaces, { as: account, locale: 'ja' })
    expect(mine.map((row) => [row.workspaceName, row.isDefault, row.enterable, row.defaultEligible])).toEqual([
      ['First', true, true, true],
      ['Second', false, false, false],
    ])
    expect(mine[0]).toMatchObject({
      userBizId: account,
      workspaceBizId: first,
      workspaceRoleName: 'Owner',
      isOwner: true,
      joinSource: { code: 'CREATION', label: '作成' },
      workspaceKind: { code: 'LIVE', value: 10050101 },
      policyConfig: null,
    })
  })

  test('workspaces.setDefault 200: one default, under parallel calls', async () => {
    const account = await world.account('mover@example.test')
    const { handlers } = world
    const all: string[] = []
    for (let count = 0; count < 4; count++) all.push(await world.workspaceOf(account))
    const responses = await Promise.all(
      [...all, ...all].map((workspace) =>
        world.call(handlers, memberContract.setDefaultWorkspace, { as: account, workspace }),
      ),
    )
    expect(responses.every((response) => response.isDefault)).toBe(true)
    const mine = await world.call(handlers, memberContract.listMyWorkspaces, { as: account })
    expect(mine.filter((row) => row.isDefault)).toHaveLength(1)
    const last = all[2] ?? ''
    await world.call(handlers, memberContract.setDefaultWorkspace, { as: account, workspace: last })
    expect((await enter(account, null)).id).toBe(last)
  })

  test('workspaces.leave 200: the oldest other membership becomes the default', async () => {
    const account = await world.account('leaver@example.test')
    const { handlers } = world
    const oldest = await world.workspaceOf(account)
    world.clock.advance(days(1))
    await world.workspaceOf(account)
    const shared = await world.workspaceOf(await world.account('host@example.test'))
    await world.join(shared, account, [])
    await world.call(handlers, memberContract.setDefaultWorkspace, { as: account, workspace: shared })
    await world.call(handlers, memberContract.leaveWorkspace, { as: account, workspace: shared })
    const defaults = async () =>
      (await world.call(handlers, memberContract.listMyWorkspaces, { as: account }))
        .filter((row) => row.isDefault)
        .map((row) => row.workspaceBizId)
    expect(await defaults()).toEqual([oldest])
    expect((await enter(account, null)).id).toBe(oldest)
    await world.join(shared, account, [])
    expect(await defaults()).toEqual([oldest])
    expect((await enter(account, null)).id).toBe(oldest)
  })

  test('workspaces.setDefault 403 ACCESS.PERMISSION_DENIED: ineligible membership', async () => {
    const account = await world.account('barred@example.test')
    const workspace = await world.workspaceOf(account)
    await setPolicy(workspace, { defaultEligible: false })
    const call = world.call(world.handlers, memberContract.setDefaultWorkspace, { as: account, workspace })
    expect(await refusalOf(call)).toBe('ACCESS.PERMISSION_DENIED')
  })

  test('workspaces.leave 422 WORKSPACE.LAST_OWNER: two owners leave concurrently', async () => {
    const workspace = await world.workspaceOf(owner, 'Shared')
    const { handlers } = world
    const members = world.members.memberships
    await world.database.transaction().execute(async (tx) => {
      const mine = await members.find(tx, owner, workspace as never)
      if (!mine) throw new Error('no membership')
      const joined = { workspaceId: mine.workspaceId, accountId: other, roleId: mine.roleId }
      await members.add(tx, { ...joined, joinSource: 'INVITATION', grantedBy: null }, world.clock.now())
    })
    const leave = (as: AccountId) => refusalOf(world.call(handlers, memberContract.leaveWorkspace, { as, workspace }))
    expect((await Promise.all([leave(owner), leave(other)])).sort()).toEqual(['WORKSPACE.LAST_OWNER', 'none'])
  })
})

describe('workspaces', () => {
  test('workspaces.create, current and update 200: with audit entries', async () => {
    const account = await world.account('creator@example.test')
    const { handlers } = world
    const created = await world.call(handlers, contract.createWorkspace, {
      as: account,
      body: { workspaceName: ' Mine ' },
    })
    expect(created).toMatchObject({
      workspaceName: 'Mine',
      workspaceTimezone: 'Europe/Berlin',
      workspaceKind: { code: 'LIVE' },
      workspaceStatus: { code: 'ACTIVE', value: 10010304 },
      extraData: null,
      entityBizId: null,
    })
    const { institutionBizId, createdAt } = created
    const [own] = await world.call(handlers, memberContract.listMyWorkspaces, { as: account })
    const home = world.database.selectFrom('accounts').select('institutionBizId as id').where('bizId', '=', account)
    const { id: institution } = await home.executeTakeFirstOrThrow()
    expect([own?.institutionBizId, institutionBizId]).toEqual([institution, institution])
    world.clock.advance(1_000)
    const changedAt = toIso(world.clock.now())
    const body = { workspaceName: 'Ours', extraData: { colour: 'blue' } }
    const changed = await world.call(handlers, contract.updateCurrentWorkspace, {
      as: account,
      workspace: created.bizId,
      body,
    })
    const unchanged = { workspaceTimezone: 'Europe/Berlin', bizId: created.bizId, institutionBizId, createdAt }
    expect(changed).toMatchObject({ ...body, ...unchanged, updatedAt: changedAt })
    expect(await world.call(handlers, contract.readCurrentWorkspace, { as: account })).toEqual(changed)
    const entries = await world.database
      .selectFrom('audit_log')
      .select('action')
      .where('actorBizId', '=', account)
      .execute()
    expect(entries.map((entry) => entry.action)).toEqual(['workspaces.create', 'workspaces.update'])
  })

  test('workspaces.create 409 STATE.CONFLICT: maximum number of workspaces of an account', async () => {
    const account = await world.account('many@example.test')
    const create = (workspaceName: string) =>
      refusalOf(world.call(world.handlers, contract.createWorkspace, { as: account, body: { workspaceName } }))
    world.limits.maxPerAccount = 3
    await world.join(await world.workspaceOf(owner), account, [])
    expect(await Promise.all(['One', 'Two', 'Three', 'Four'].map(create))).toEqual(
      expect.arrayContaining(['none', 'none', 'STATE.CONFLICT', 'STATE.CONFLICT']),
    )
    const mine = await world.call(world.handlers, memberContract.listMyWorkspaces, { as: account })
    expect(mine).toHaveLength(3)
    await world.call(world.handlers, memberContract.leaveWorkspace, {
      as: account,
      workspace: mine.find(({ joinSource }) => joinSource.code === 'INVITATION')?.workspaceBizId ?? '',
    })
    expect(await create('Five')).toBe('none')
    Object.assign(world.limits, accessSettings.workspaces)
  })

  test('workspaces.create 200: a sandbox on request', async () => {
    const body = { workspaceName: 'Play', workspaceKind: 'SANDBOX', workspaceTimezone: 'Asia/Tokyo' }
    const created = await world.call(world.handlers, contract.createWorkspace, { as: owner, body })
    expect(created).toMatchObject({ workspaceKind: { code: 'SANDBOX' }, workspaceTimezone: 'Asia/Tokyo' })
  })
})
