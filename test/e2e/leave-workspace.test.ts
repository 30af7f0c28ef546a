import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { type Portico, startPortico } from '../harness/portico.ts'

const denied = { status: 403, code: 'ACCESS.PERMISSION_DENIED' }
const lastOwner = { status: 422, code: 'WORKSPACE.LAST_OWNER' }

describe('leaving a workspace that cannot be entered', () => {
  let portico: Portico
  let owner: Client<'CONSUMER'>
  let member: Client<'CONSUMER'>
  let operator: Client<'SYSTEM'>
  let userBizId: string

  beforeAll(async () => {
    portico = await startPortico()
    owner = clientOf(portico, 'CONSUMER')
    member = clientOf(portico, 'CONSUMER')
    operator = clientOf(portico, 'SYSTEM')
    await signInAs(portico, owner, 'owner@demo.test')
    await signInAs(portico, member, 'member@demo.test')
    await signInAs(portico, operator, 'operator@demo.test')
    userBizId = (await member.readProfile()).bizId
  })
  afterAll(() => portico?.stop())

  const workspaceWithMember = async (workspaceName: string): Promise<string> => {
    const { bizId } = await owner.createWorkspace({ body: { workspaceName, workspaceKind: 'LIVE' } })
    const role = await owner.createRole({ workspaceId: bizId, body: { roleName: 'Guest', permissionCodes: [] } })
    const body = { email: 'member@demo.test', roleBizId: role.bizId }
    const invitation = await owner.createInvitation({ workspaceId: bizId, body })
    await member.acceptInvitation({ body: { invitationBizId: invitation.bizId } })
    return bizId
  }
  const freeze = (workspace_id: string) =>
    operator.freezeWorkspace({ params: { workspace_id }, body: { reason: 'Under review' } })
  const exclude = (workspace_id: string) => {
    const body = { userBizId, policyConfig: { enterable: false }, reason: 'Under review' }
    return operator.limitMember({ params: { workspace_id }, body })
  }
  const isMember = async (workspaceId: string): Promise<boolean> =>
    (await member.listMyWorkspaces()).some(({ workspaceBizId }) => workspaceBizId === workspaceId)

  test.each([
    ['a frozen workspace', freeze],
    ['an excluded member', exclude],
  ])('workspaces.leave 200: %s; every other operation stays closed', async (name, close) => {
    const workspaceId = await workspaceWithMember(name)
    await close(workspaceId)
    await expect(member.readCurrentWorkspace({ workspaceId })).rejects.toMatchObject(denied)
    await expect(member.setDefaultWorkspace({ workspaceId })).rejects.toMatchObject(denied)
    await expect(member.listWallets({ workspaceId })).rejects.toMatchObject(denied)
    expect(await member.leaveWorkspace({ workspaceId })).toBeNull()
    expect(await isMember(workspaceId)).toBe(false)
    await expect(member.leaveWorkspace({ workspaceId })).rejects.toMatchObject(denied)
  })

  test('workspaces.leave 200: requests without a workspace use another one afterwards', async () => {
    const before = (await member.listMyWorkspaces()).find(({ isDefault }) => isDefault)?.workspaceBizId
    const workspaceId = await workspaceWithMember('Default')
    await member.setDefaultWorkspace({ workspaceId })
    await freeze(workspaceId)
    await expect(member.readCurrentWorkspace()).rejects.toMatchObject(denied)
    await expect(member.leaveWorkspace()).rejects.toMatchObject(denied)
    await member.leaveWorkspace({ workspaceId })
    expect((await member.listMyWorkspaces()).find(({ isDefault }) => isDefault)?.workspaceBizId).toBe(before)
    expect((await member.readCurrentWorkspace()).bizId).toBe(before)
  })

  test('workspaces.leave 422 WORKSPACE.LAST_OWNER and 403: a frozen workspace and a foreign one', async () => {
    const { bizId } = await owner.createWorkspace({ body: { workspaceName: 'Alone', workspaceKind: 'LIVE' } })
    await freeze(bizId)
    await expect(owner.leaveWorkspace({ workspaceId: bizId })).rejects.toMatchObject(lastOwner)
    await expect(member.leaveWorkspace({ workspaceId: bizId })).rejects.toMatchObject(denied)
    await expect(member.leaveWorkspace({ workspaceId: 'mine' })).rejects.toMatchObject(denied)
  })
})
