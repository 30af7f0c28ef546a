import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { workspacePermissions } from '../../../src/contract/index.ts'
import * as memberContract from '../../../src/domains/members/contract.ts'
import * as contract from '../../../src/domains/workspaces/contract.ts'
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

const ask: World['call'] = (handlers, operation, asked) => world.call(handlers, operation, asked)
const enter = (account: AccountId, workspace: string | null) => world.members.enter(callerOf(account), workspace)
const setStatus = (workspace: string, status: 'ACTIVE' | 'FROZEN') =>
  world.database
    .updateTable('workspaces')
    .set({ workspace_status: status })
    .where('biz_id', '=', workspace as never)
    .execute()
const setPolicy = (workspace: string, config: object | null) =>
  world.database
    .updateTable('memberships')
    .set({ policy_config: config && JSON.stringify(config) })
    .where('workspace_biz_id', '=', workspace as never)
    .execute()

describe('the gate', () => {
  test('an account without a workspace needs one', async () => {
    const nobody = await world.account('nobody@example.test')
    expect(await refusalOf(enter(nobody, null))).toBe('ACCESS.WORKSPACE_REQUIRED')
  })

  test('unknown, malformed and foreign workspaces are one and the same', async () => {
    const mine = await world.workspaceOf(owner)
    for (const id of ['01990000-0000-7000-8000-0000000000ff', 'x', '', "' OR 1=1", mine.toUpperCase(), mine]) {
      expect(await refusalOf(enter(other, id)), id).toBe('ACCESS.PERMISSION_DENIED')
    }
    expect((await enter(owner, mine)).isOwner).toBe(true)
  })

  test('an owner holds every right, a member those of today’s role that exist', async () => {
    const workspace = await world.workspaceOf(owner)
    const role = await world.join(workspace, other, ['wallet:read', 'nothing:known'])
    expect([...(await enter(owner, workspace)).permissions]).toEqual([...workspacePermissions])
    expect([...(await enter(other, workspace)).permissions]).toEqual(['wallet:read'])
    await world.database
      .updateTable('roles')
      .set({ permission_codes: ['transfer:read'] })
      .where('biz_id', '=', role as never)
      .execute()
    const access = await enter(other, workspace)
    expect([...access.permissions]).toEqual(['transfer:read'])
    expect(access.isOwner).toBe(false)
  })

  test('a frozen workspace is not entered, and not replaced by another one', async () => {
    const account = await world.account('frozen@example.test')
    const first = await world.workspaceOf(account)
    const second = await world.workspaceOf(account)
    expect((await enter(account, null)).id).toBe(first)
    await setStatus(first, 'FROZEN')
    expect(await refusalOf(enter(account, first))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(enter(account, null))).toBe('ACCESS.PERMISSION_DENIED')
    expect((await enter(account, second)).id).toBe(second)
  })

  test('without a default the oldest membership is picked', async () => {
    const account = await world.account('aged@example.test')
    const first = await world.workspaceOf(account)
    world.clock.advance(days(1))
    await world.workspaceOf(account)
    await world.database.updateTable('memberships').set({ is_default: false }).execute()
    expect((await enter(account, null)).id).toBe(first)
  })

  test('policyConfig limits a membership; what cannot be read limits it most', async () => {
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
  test('mine lists them with what they may do', async () => {
    const account = await world.account('lister@example.test')
    const { handlers } = world
    const first = await world.workspaceOf(account, 'First')
    const second = await world.workspaceOf(account, 'Second', 'SANDBOX')
    await setStatus(second, 'FROZEN')
    const mine = await ask(handlers, memberContract.listMyWorkspaces, { as: account, locale: 'ja' })
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

  test('the default moves, and stays one under parallel calls', async () => {
    const account = await world.account('mover@example.test')
    const { handlers } = world
    const all: string[] = []
    for (let count = 0; count < 4; count++) all.push(await world.workspaceOf(account))
    const answers = await Promise.all(
      [...all, ...all].map((workspace) =>
        ask(handlers, memberContract.setDefaultWorkspace, { as: account, workspace }),
      ),
    )
    expect(answers.every((answer) => answer.isDefault)).toBe(true)
    const mine = await ask(handlers, memberContract.listMyWorkspaces, { as: account })
    expect(mine.filter((row) => row.isDefault)).toHaveLength(1)
    const last = all[2] ?? ''
    await ask(handlers, memberContract.setDefaultWorkspace, { as: account, workspace: last })
    expect((await enter(account, null)).id).toBe(last)
  })

  test('who leaves their default has the oldest of the others as theirs, whatever they join later', async () => {
    const account = await world.account('leaver@example.test')
    const { handlers } = world
    const oldest = await world.workspaceOf(account)
    world.clock.advance(days(1))
    await world.workspaceOf(account)
    const shared = await world.workspaceOf(await world.account('host@example.test'))
    await world.join(shared, account, [])
    await ask(handlers, memberContract.setDefaultWorkspace, { as: account, workspace: shared })
    await ask(handlers, memberContract.leaveWorkspace, { as: account, workspace: shared })
    const defaults = async () =>
      (await ask(handlers, memberContract.listMyWorkspaces, { as: account }))
        .filter((row) => row.isDefault)
        .map((row) => row.workspaceBizId)
    expect(await defaults()).toEqual([oldest])
    expect((await enter(account, null)).id).toBe(oldest)
    await world.join(shared, account, [])
    expect(await defaults()).toEqual([oldest])
    expect((await enter(account, null)).id).toBe(oldest)
  })

  test('one that may not be the default is refused', async () => {
    const account = await world.account('barred@example.test')
    const workspace = await world.workspaceOf(account)
    await setPolicy(workspace, { defaultEligible: false })
    const call = ask(world.handlers, memberContract.setDefaultWorkspace, { as: account, workspace })
    expect(await refusalOf(call)).toBe('ACCESS.PERMISSION_DENIED')
  })

  test('of two last owners who leave at once one remains', async () => {
    const workspace = await world.workspaceOf(owner, 'Shared')
    const { handlers } = world
    const members = world.members.memberships
    await world.database.transaction().execute(async (tx) => {
      const mine = await members.find(tx, owner, workspace as never)
      if (!mine) throw new Error('no membership')
      const joined = { workspaceId: mine.workspaceId, accountId: other, roleId: mine.roleId }
      await members.add(tx, { ...joined, joinSource: 'INVITATION' }, world.clock.now())
    })
    const leave = (as: AccountId) => refusalOf(ask(handlers, memberContract.leaveWorkspace, { as, workspace }))
    expect((await Promise.all([leave(owner), leave(other)])).sort()).toEqual(['WORKSPACE.LAST_OWNER', 'none'])
  })
})

describe('workspaces', () => {
  test('created with its owner, then read and updated', async () => {
    const account = await world.account('creator@example.test')
    const { handlers } = world
    const made = await ask(handlers, contract.createWorkspace, { as: account, body: { workspaceName: ' Mine ' } })
    expect(made).toMatchObject({
      workspaceName: 'Mine',
      workspaceTimezone: 'Europe/Berlin',
      workspaceKind: { code: 'LIVE' },
      workspaceStatus: { code: 'ACTIVE', value: 10010304 },
      extraData: null,
      entityBizId: null,
    })
    const { institutionBizId, createdAt } = made
    const [own] = await ask(handlers, memberContract.listMyWorkspaces, { as: account })
    const home = world.database.selectFrom('accounts').select('institution_biz_id as id').where('biz_id', '=', account)
    const { id: institution } = await home.executeTakeFirstOrThrow()
    expect([own?.institutionBizId, institutionBizId]).toEqual([institution, institution])
    world.clock.advance(1_000)
    const changedAt = toIso(world.clock.now())
    const body = { workspaceName: 'Ours', extraData: { colour: 'blue' } }
    const changed = await ask(handlers, contract.updateCurrentWorkspace, { as: account, workspace: made.bizId, body })
    const kept = { workspaceTimezone: 'Europe/Berlin', bizId: made.bizId, institutionBizId, createdAt }
    expect(changed).toMatchObject({ ...body, ...kept, updatedAt: changedAt })
    expect(await ask(handlers, contract.readCurrentWorkspace, { as: account })).toEqual(changed)
    const acts = await world.database
      .selectFrom('audit_log')
      .select('action')
      .where('actor_biz_id', '=', account)
      .execute()
    expect(acts.map((act) => act.action)).toEqual(['workspaces.create', 'workspaces.update'])
  })

  test('workspaces.create 409 STATE.CONFLICT for more than an account may belong to, however it came to them', async () => {
    const account = await world.account('many@example.test')
    const create = (workspaceName: string) =>
      refusalOf(ask(world.handlers, contract.createWorkspace, { as: account, body: { workspaceName } }))
    world.limits.maxPerAccount = 3
    await world.join(await world.workspaceOf(owner), account, [])
    expect(await Promise.all(['One', 'Two', 'Three', 'Four'].map(create))).toEqual(
      expect.arrayContaining(['none', 'none', 'STATE.CONFLICT', 'STATE.CONFLICT']),
    )
    const mine = await ask(world.handlers, memberContract.listMyWorkspaces, { as: account })
    expect(mine).toHaveLength(3)
    await ask(world.handlers, memberContract.leaveWorkspace, {
      as: account,
      workspace: mine.find(({ joinSource }) => joinSource.code === 'INVITATION')?.workspaceBizId ?? '',
    })
    expect(await create('Five')).toBe('none')
    Object.assign(world.limits, accessSettings.workspaces)
  })

  test('a sandbox when asked for', async () => {
    const body = { workspaceName: 'Play', workspaceKind: 'SANDBOX', workspaceTimezone: 'Asia/Tokyo' }
    const made = await ask(world.handlers, contract.createWorkspace, { as: owner, body })
    expect(made).toMatchObject({ workspaceKind: { code: 'SANDBOX' }, workspaceTimezone: 'Asia/Tokyo' })
  })
})
