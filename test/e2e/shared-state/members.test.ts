import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { unknownId } from '../../harness/catalogue.ts'
import type { Answer, Call } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'
import { type AccessWorld, startAccessWorld } from '../access-world.ts'

const workspace = developmentIds.workspace
function outcomeOf({ status, body }: Answer) {
  return [status, body.code]
}

describe('members', needsStore(), () => {
  let world: AccessWorld
  let operator: Session
  let userBizId: string
  beforeAll(async () => {
    world = await startAccessWorld()
    operator = await signIn(world.portico, 'operator@demo.test')
    userBizId = (await world.data(world.member, 'GET', '/profile')).bizId
  })
  afterAll(() => world?.portico.stop())

  const system = (method: 'GET' | 'POST', path: string, call?: Call): Promise<Answer> =>
    world.portico.call(method, `/web/v1/system${path}`, { token: operator.accessToken, ...call })
  const found = async (query = '', who = world.owner): Promise<string[]> => {
    const { items } = await world.data(who, 'GET', `/roles/members${query}`, { workspace })
    return items.map(({ accountEmail }: { accountEmail: string }) => accountEmail)
  }
  const limit = (policyConfig: object | null, more: object = {}, where: string = workspace) => {
    const body = { userBizId, policyConfig, reason: 'a court order', ...more }
    return system('POST', `/workspaces/${where}/members/policy`, { body })
  }
  const asMember = (path: string, call: Call = {}, method: 'GET' | 'POST' = 'GET') =>
    world.call(world.member, method, path, call)

  test('workspaces.listMembers 200: the members, with the ids that change their roles', async () => {
    const { items, pagination } = await world.data(world.owner, 'GET', '/roles/members', { workspace })
    expect(pagination).toMatchObject({ totalRecords: 2, paginated: true })
    const one = items.find(({ accountEmail }: { accountEmail: string }) => accountEmail === 'member@demo.test')
    expect(one).toMatchObject({
      userBizId,
      workspaceBizId: workspace,
      workspaceRoleBizId: developmentIds.memberRole,
      workspaceRoleName: 'Member',
      joinSource: { code: 'INVITATION' },
      isOwner: false,
      enterable: true,
      policyConfig: null,
    })
    const body = { userBizId: one.userBizId, roleBizId: one.workspaceRoleBizId }
    expect((await world.call(world.owner, 'POST', '/roles/members/role/change', { workspace, body })).status).toBe(200)
  })

  test('workspaces.listMembers 200: by role, part of a name or address, page and order', async () => {
    expect(await found('?accountEmail=MEMBER@')).toEqual(['member@demo.test'])
    expect(await found(`?roleBizId=${developmentIds.memberRole}`)).toEqual(['member@demo.test'])
    expect(await found(`?roleBizId=${unknownId}`)).toEqual([])
    const { accountName } = await world.data(world.owner, 'GET', '/profile')
    expect(await found(`?accountName=${encodeURIComponent(accountName.slice(1).toUpperCase())}`)).toContain(
      'owner@demo.test',
    )
    const byName = await found('?sortBy=accountName&sortOrder=asc')
    expect(await found('?sortBy=accountName&sortOrder=desc')).toEqual(byName.toReversed())
    expect(await found('?sortBy=accountName&sortOrder=asc&pageSize=1&currentPage=2')).toEqual(byName.slice(1))
    expect(await found('?accountEmail=%25')).toEqual([])
  })

  test('workspaces.listMembers 400, 403: malformed filters, non-members, roles without the permission', async () => {
    for (const query of ['?roleBizId=x', '?email=a', '?pageSize=0', '?sortBy=accountEmail', '?accountName=']) {
      const response = await world.call(world.owner, 'GET', `/roles/members${query}`, { workspace })
      expect(outcomeOf(response), query).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    }
    const elsewhere = await world.workspace(world.owner, 'Elsewhere')
    const foreign = await asMember('/roles/members', { workspace: elsewhere })
    expect(outcomeOf(foreign)).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    const body = { roleName: 'Blind', permissionCodes: ['wallet:read'] }
    const { bizId: roleBizId } = await world.data(world.owner, 'POST', '/roles', { workspace, body })
    const change = (role: string) =>
      world.data(world.owner, 'POST', '/roles/members/role/change', { workspace, body: { userBizId, roleBizId: role } })
    await change(roleBizId)
    expect(outcomeOf(await asMember('/roles/members', { workspace }))).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    await change(developmentIds.memberRole)
    expect(await found('', world.member)).toHaveLength(2)
  })

  test('workspaces.limitMember 200: read-only from the next request on, until lifted', async () => {
    const update = () => asMember('/transfer/command/create', { workspace, body: {} }, 'POST')
    expect((await update()).status).toBe(400)
    const limited = await limit({ readOnly: true })
    expect(limited.body.data).toMatchObject({ userBizId, policyConfig: { readOnly: true }, enterable: true })
    expect(outcomeOf(await update())).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    expect((await asMember('/wallets', { workspace })).status).toBe(200)
    expect((await limit(null)).body.data.policyConfig).toBeNull()
    expect((await update()).status).toBe(400)
  })

  test('workspaces.limitMember 200: enterable and defaultEligible take effect', async () => {
    const mine = async () => {
      const list = await world.data(world.member, 'GET', '/workspaces/mine')
      return list.find(({ workspaceBizId }: { workspaceBizId: string }) => workspaceBizId === workspace)
    }
    const preferred = () => asMember('/workspaces/current')
    const prefer = () => asMember('/workspaces/current/default', { workspace }, 'POST')
    expect((await preferred()).body.data.bizId).toBe(workspace)
    await limit({ defaultEligible: false })
    expect(await mine()).toMatchObject({ enterable: true, defaultEligible: false, isDefault: false })
    expect((await asMember('/workspaces/current', { workspace })).status).toBe(200)
    expect(outcomeOf(await preferred())).toEqual([400, 'ACCESS.WORKSPACE_REQUIRED'])
    expect(outcomeOf(await prefer())).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    await limit({ enterable: false })
    expect(await mine()).toMatchObject({ enterable: false, defaultEligible: false })
    expect(outcomeOf(await asMember('/workspaces/current', { workspace }))).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    await limit(null)
    expect((await prefer()).body.data).toMatchObject({ isDefault: true, enterable: true, defaultEligible: true })
    expect((await preferred()).body.data.bizId).toBe(workspace)
  })

  test('workspaces.limitMember 400, 404: an unknown limit, an empty body, an unknown member or workspace', async () => {
    for (const config of [{}, { enterable: 'no' }, { maximum: 1 }, [], 'x']) {
      expect(outcomeOf(await limit(config as object)), JSON.stringify(config)).toEqual([
        400,
        'VALIDATION.INVALID_PARAMETER',
      ])
    }
    expect(outcomeOf(await limit(null, { reason: '' }))).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    expect(outcomeOf(await limit(null, { userBizId: unknownId }))).toEqual([404, 'RESOURCE.NOT_FOUND'])
    for (const where of [unknownId, 'x']) {
      expect(outcomeOf(await limit(null, {}, where)), where).toEqual([404, 'RESOURCE.NOT_FOUND'])
    }
  })

  test('workspaces.limitMember 200: the audit log has the operator, the member, the limits and the reason', async () => {
    await limit({ readOnly: false })
    await limit(null)
    const { body } = await system('GET', `/audit-log?targetId=${userBizId}`)
    expect(JSON.stringify(body.data.items)).toContain('workspaces.limitMember')
    expect(JSON.stringify(body.data.items)).toContain('a court order')
  })

  test('roles.removeMember 200: ends access, keys and invitations for good, and informs the member', async () => {
    const own = await world.workspace(world.owner, 'Removal')
    const post = (path: string, body: object, who = world.owner) =>
      world.data(who, 'POST', path, { workspace: own, body })
    const all = [
      'invitation:manage',
      'invitation:read',
      'api-key:read',
      'api-key:manage',
      'member:manage',
      'wallet:read',
    ]
    const { bizId: roleBizId } = await post('/roles', { roleName: 'Deputy', permissionCodes: all })
    const join = async () => {
      const { bizId: invitationBizId } = await post('/invitations', { email: 'member@demo.test', roleBizId })
      await world.data(world.member, 'POST', '/profile/invitations/accept', { body: { invitationBizId } })
    }
    await join()
    const deputy = { workspace: own, body: { apiKeyName: 'Deputy', permissionCodes: ['wallet:read'] } }
    const { secret, bizId: key } = await world.data(world.member, 'POST', '/api-keys', deputy)
    await post('/invitations', { email: 'third@demo.test', roleBizId }, world.member)
    const balance = () =>
      world.portico.call('GET', '/api/v1/consumer/wallets', { headers: { authorization: `Bearer ${secret}` } })
    expect((await balance()).status).toBe(200)

    const remove = (id: string, who = world.owner) =>
      world.call(who, 'POST', '/roles/members/remove', { workspace: own, body: { userBizId: id } })
    const ownerId = (await world.data(world.owner, 'GET', '/profile')).bizId
    expect(outcomeOf(await remove(ownerId, world.member))).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    expect(outcomeOf(await remove(ownerId))).toEqual([422, 'WORKSPACE.LAST_OWNER'])
    expect(outcomeOf(await remove(unknownId))).toEqual([404, 'RESOURCE.NOT_FOUND'])

    expect((await remove(userBizId)).status).toBe(200)
    expect(outcomeOf(await asMember('/wallets', { workspace: own }))).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    expect((await balance()).status).not.toBe(200)
    expect(outcomeOf(await remove(userBizId))).toEqual([404, 'RESOURCE.NOT_FOUND'])
    const invitations = await world.data(world.owner, 'GET', '/invitations', { workspace: own })
    const third = invitations.find(({ inviteeEmail }: { inviteeEmail: string }) => inviteeEmail === 'third@demo.test')
    expect(third.invitationStatus.code).toBe('CANCELLED')
    await post('/invitations', { email: 'third@demo.test', roleBizId })
    const mailedTexts = async () => (await world.portico.mailsTo('member@demo.test')).map(({ text }) => text).join()
    await expect.poll(mailedTexts, { timeout: 10_000 }).toContain('A member has been removed from the workspace.')
    await join()
    expect((await balance()).status).not.toBe(200)
    const stored = await world.data(world.owner, 'GET', `/api-keys/${key}`, { workspace: own })
    expect(stored.apiKeyStatus.code).toBe('DELETED')
  })

  test('workspaces.listMembersOf 200, 404: operators can list the members of any workspace', async () => {
    const list = await system('GET', `/workspaces/${workspace}/members?accountEmail=member`)
    expect(list.body.data.items).toMatchObject([{ userBizId, workspaceRoleName: 'Member' }])
    for (const where of [unknownId, 'x']) {
      expect(outcomeOf(await system('GET', `/workspaces/${where}/members`)), where).toEqual([404, 'RESOURCE.NOT_FOUND'])
    }
  })

  test('wallets.listOf 200, 404: operators can list the wallets of any workspace', async () => {
    const { body } = await system('GET', `/workspaces/${workspace}/wallets`)
    const expected = { workspaceBizId: workspace, walletName: 'Main USD', currency: 'USD', isDefault: true }
    expect(body.data).toEqual(expect.arrayContaining([expect.objectContaining(expected)]))
    for (const where of [unknownId, 'x'])
      expect(outcomeOf(await system('GET', `/workspaces/${where}/wallets`)), where).toEqual([404, 'RESOURCE.NOT_FOUND'])
  })

  test('operators.listWorkspaces 200: finds a workspace by its id', async () => {
    const idsBy = async (id: string) =>
      (await system('GET', `/workspaces?workspaceId=${id}`)).body.data.items.map(
        (item: { bizId: string }) => item.bizId,
      )
    expect(await idsBy(workspace)).toEqual([workspace])
    expect(await idsBy(unknownId)).toEqual([])
  })
})
