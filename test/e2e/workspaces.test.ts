import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { type Portico, startPortico } from '../harness/portico.ts'

const conflict = { status: 409, code: 'STATE.CONFLICT' }

describe('workspaces of owners and operators, by the typed client', () => {
  let portico: Portico
  let owner: Client<'CONSUMER'>
  let member: Client<'CONSUMER'>
  let operator: Client<'SYSTEM'>
  const workspaceId = developmentIds.workspace

  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ money }) => {
        money.transferApprovalFrom = { USD: '500.00' }
      },
    })
    owner = clientOf(portico, 'CONSUMER')
    member = clientOf(portico, 'CONSUMER')
    operator = clientOf(portico, 'SYSTEM')
    await signInAs(portico, owner, 'owner@demo.test')
    await signInAs(portico, member, 'member@demo.test')
    await signInAs(portico, operator, 'operator@demo.test')
  })
  afterAll(() => portico?.stop())

  const ownWorkspace = async (workspaceName: string): Promise<string> =>
    (await owner.createWorkspace({ body: { workspaceName, workspaceKind: 'LIVE' } })).bizId
  const invited = async (workspace: string) => {
    const role = await owner.createRole({
      workspaceId: workspace,
      body: { roleName: `Guest ${crypto.randomUUID().slice(0, 4)}`, permissionCodes: ['wallet:read'] },
    })
    const body = { email: 'member@demo.test', roleBizId: role.bizId, message: 'Join us' }
    return owner.createInvitation({ workspaceId: workspace, body })
  }

  test('workspaces.update 200: only the sent fields change', async () => {
    const workspace = await ownWorkspace('Before')
    const body = { workspaceTimezone: 'Europe/Berlin', extraData: { costCentre: '4711' } }
    const changed = await owner.updateCurrentWorkspace({ workspaceId: workspace, body })
    expect(changed).toMatchObject({ workspaceName: 'Before', ...body })
    expect(await owner.readCurrentWorkspace({ workspaceId: workspace })).toEqual(changed)
  })

  test('roles.read, roles.listPermissions, roles.update 200', async () => {
    const body = { roleName: 'Cashier', description: 'At the till', permissionCodes: ['wallet:read' as const] }
    const { bizId } = await owner.createRole({ workspaceId, body })
    const params = { role_id: bizId }
    expect(await owner.listRolePermissions({ workspaceId, params })).toEqual(['wallet:read'])
    const renamed = await owner.updateRole({ workspaceId, body: { roleBizId: bizId, roleName: 'Till' } })
    expect(renamed).toMatchObject({ roleName: 'Till', description: 'At the till', permissionCodes: ['wallet:read'] })
    expect(await owner.readRole({ workspaceId, params })).toEqual(renamed)
  })

  test('invitations.list, cancel and decline 200; 409 for a closed invitation', async () => {
    const workspace = await ownWorkspace('Inviting')
    const first = await invited(workspace)
    expect(await owner.listInvitations({ workspaceId: workspace })).toMatchObject([{ bizId: first.bizId }])
    const cancelled = await owner.cancelInvitation({
      workspaceId: workspace,
      body: { invitationBizId: first.bizId },
    })
    expect(cancelled.invitationStatus.code).toBe('CANCELLED')
    await expect(member.acceptInvitation({ body: { invitationBizId: first.bizId } })).rejects.toMatchObject(conflict)
    const second = await invited(workspace)
    const response = { invitationBizId: second.bizId, reason: 'No time' }
    expect((await member.declineInvitation({ body: response })).invitationStatus.code).toBe('DECLINED')
    await expect(member.declineInvitation({ body: response })).rejects.toMatchObject(conflict)
  })

  test('invitations.accept 422 WORKSPACE.NOT_ACTIVE for a frozen workspace', async () => {
    const workspace = await ownWorkspace('Frozen')
    const { bizId } = await invited(workspace)
    await operator.freezeWorkspace({ params: { workspace_id: workspace }, body: { reason: 'Under review' } })
    const joining = member.acceptInvitation({ body: { invitationBizId: bizId } })
    await expect(joining).rejects.toMatchObject({ status: 422, code: 'WORKSPACE.NOT_ACTIVE' })
  })

  test('apiKeys.availablePermissions, enable and delete 200; 409 for a deleted key', async () => {
    expect(await owner.listApiKeyPermissions({ workspaceId })).toContain('wallet:read')
    const created = await owner.createApiKey({
      workspaceId,
      body: { apiKeyName: 'Till', permissionCodes: ['wallet:read'] },
    })
    const body = { apiKeyBizId: created.bizId }
    await owner.disableApiKey({ workspaceId, body })
    expect((await owner.enableApiKey({ workspaceId, body })).apiKeyStatus.code).toBe('ACTIVE')
    expect((await owner.deleteApiKey({ workspaceId, body })).apiKeyStatus.code).toBe('DELETED')
    const again = owner.enableApiKey({ workspaceId, body })
    await expect(again).rejects.toMatchObject({
      code: expect.stringMatching(/^(STATE\.CONFLICT|RESOURCE\.NOT_FOUND)$/),
    })
  })

  test('transfers.approve and reject 200: held until an operator decides, once', async () => {
    const body = {
      sourceWalletBizId: developmentIds.mainUsd,
      targetWalletBizId: developmentIds.savingsUsd,
      amount: '600.00',
      currency: 'USD',
    }
    const held = async () => (await owner.createTransfer({ workspaceId, body })).bizId
    const balance = () => owner.readBalance({ workspaceId, params: { wallet_id: developmentIds.savingsUsd } })
    const before = await balance()
    const [one, two] = [await held(), await held()]
    const approved = await operator.approveTransfer({ params: { order_id: one } })
    expect(approved.transferStatus.code).toBe('COMPLETED')
    const rejected = await operator.rejectTransfer({ params: { order_id: two }, body: { reason: 'Unknown payee' } })
    expect(rejected.transferStatus.code).toBe('FAILED')
    await expect(operator.approveTransfer({ params: { order_id: two } })).rejects.toMatchObject(conflict)
    const after = await balance()
    expect(Number(after.totalBalance) - Number(before.totalBalance)).toBe(600)
  })

  test('wallets.close 200: a frozen, empty wallet is closed permanently', async () => {
    const workspace = await ownWorkspace('Closing')
    const [wallet] = await owner.listWallets({ workspaceId: workspace })
    const params = { wallet_id: wallet?.bizId ?? '' }
    const body = { reason: 'Account given up' }
    await expect(operator.closeWallet({ params, body })).rejects.toMatchObject(conflict)
    await operator.freezeWallet({ params, body })
    expect((await operator.closeWallet({ params, body })).walletStatus.code).toBe('CLOSED')
    expect((await owner.readWallet({ workspaceId: workspace, params })).walletStatus.code).toBe('CLOSED')
    await expect(operator.unfreezeWallet({ params, body })).rejects.toMatchObject(conflict)
  })
})
