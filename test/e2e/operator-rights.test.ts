import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Client } from '../../src/client/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { clientOf, signInAs } from '../harness/client.ts'
import { type Portico, startPortico } from '../harness/portico.ts'

const denied = { status: 403, code: 'ACCESS.PERMISSION_DENIED' }
const conflict = { status: 409, code: 'STATE.CONFLICT' }
const reason = 'Change of duties'

describe('rights of operators, and recovery by operators', () => {
  let portico: Portico
  let owner: Client<'CONSUMER'>
  let member: Client<'CONSUMER'>
  let operator: Client<'SYSTEM'>
  let checker: Client<'SYSTEM'>

  beforeAll(async () => {
    portico = await startPortico()
    owner = clientOf(portico, 'CONSUMER')
    member = clientOf(portico, 'CONSUMER')
    operator = clientOf(portico, 'SYSTEM')
    checker = clientOf(portico, 'SYSTEM')
    await signInAs(portico, owner, 'owner@demo.test')
    await signInAs(portico, member, 'member@demo.test')
    await signInAs(portico, operator, 'operator@demo.test')
    await signInAs(portico, checker, 'checker@demo.test')
  })
  afterAll(() => portico?.stop())

  const idOf = async (client: { readProfile(): Promise<{ bizId: string }> }) => (await client.readProfile()).bizId

  test('proposals.proposePermissions 200: neither the proposer nor the operator can confirm; mails go out', async () => {
    const params = { account_id: await idOf(checker) }
    const body = { permissionCodes: ['audit:read' as const], reason }
    const proposal = await operator.proposePermissions({ params, body })
    const own = { params: { proposal_id: proposal.bizId } }
    await expect(operator.confirmProposal(own)).rejects.toMatchObject(denied)
    await expect(checker.confirmProposal(own)).rejects.toMatchObject(denied)
    await expect(operator.proposePermissions({ params, body })).rejects.toMatchObject(conflict)
    const pending = await operator.listProposals({ query: { proposalStatus: 'PENDING' } })
    expect(pending.items).toMatchObject([{ bizId: proposal.bizId, subjectEmail: 'checker@demo.test' }])
    for (const to of ['checker@demo.test', 'operator@demo.test'])
      expect((await portico.mailTo(to, 'proposals.operator-proposal')).text).toContain(reason)
    const rejected = await operator.rejectProposal({ ...own, body: { reason: 'Withdrawn' } })
    expect(rejected.proposalStatus.code).toBe('REJECTED')
  })

  test('proposals.proposeOwner 200: two operators restore an owner, in parallel requests once', async () => {
    const { bizId: workspaceId } = await owner.createWorkspace({
      body: { workspaceName: 'Orphan', workspaceKind: 'LIVE' },
    })
    const params = { workspace_id: workspaceId }
    const body = { userBizId: await idOf(member), reason }
    await expect(operator.proposeOwner({ params, body })).rejects.toMatchObject(conflict)
    const excluded = { userBizId: await idOf(owner), policyConfig: { enterable: false }, reason }
    await operator.limitMember({ params, body: excluded })
    const { bizId } = await operator.proposeOwner({ params, body })
    await expect(member.readCurrentWorkspace({ workspaceId })).rejects.toMatchObject(denied)
    const confirm = () => checker.confirmProposal({ params: { proposal_id: bizId } })
    const results = await Promise.allSettled([confirm(), confirm()])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(results.find(({ status }) => status === 'rejected')).toMatchObject({ reason: conflict })
    expect(await member.readCurrentWorkspace({ workspaceId })).toMatchObject({ bizId: workspaceId })
    const mine = (await member.listMyWorkspaces()).find((each) => each.workspaceBizId === workspaceId)
    expect(mine).toMatchObject({ isOwner: true, joinSource: { code: 'RESTORATION' } })
  })

  test('proposals.resetFactor 200: removes backup codes and ends the sessions, without a delay in development', async () => {
    await member.generateBackupCodes()
    const params = { account_id: await idOf(member) }
    expect(await operator.resetAccountFactors({ params, body: { reason } })).toMatchObject({
      proposalStatus: { code: 'DONE' },
    })
    // A gateway caches sessions for up to one second.
    const read = () =>
      member.readProfile().then(
        () => 200,
        (error) => error.status,
      )
    await expect.poll(read).toBe(401)
    await signInAs(portico, member, 'member@demo.test')
    expect(await member.readBackupCodeStatus()).toMatchObject({ totalGenerated: 0 })
    await expect(operator.resetAccountFactors({ params, body: { reason } })).rejects.toMatchObject(conflict)
  })

  test('apiKeys.listAll, disableAny and deleteAny 200: an operator finds and ends an API key', async () => {
    const [{ workspaceBizId: workspaceId = '' } = {}] = await owner.listWallets()
    const key = await owner.createApiKey({
      workspaceId,
      body: { apiKeyName: 'Leaked', permissionCodes: ['wallet:read'] },
    })
    const call = () => portico.call('GET', '/api/v1/consumer/wallets', { token: `${key.secret}` })
    expect((await call()).status).toBe(200)
    const namesBy = async (query: { createdBy?: string; workspaceId?: string; keyPrefix?: string }) => {
      const { items } = await operator.listAllApiKeys({ query })
      return items.map(({ apiKeyName }) => apiKeyName)
    }
    expect(await namesBy({})).toContain('Leaked')
    const { createdBy, keyPrefix } = key
    for (const query of [{ createdBy, workspaceId }, { keyPrefix }]) expect(await namesBy(query)).toEqual(['Leaked'])
    for (const query of [{ createdBy: workspaceId }, { workspaceId: createdBy }])
      expect(await namesBy(query)).toEqual([])
    const params = { api_key_id: key.bizId }
    expect((await operator.disableAnyApiKey({ params, body: { reason } })).apiKeyStatus.code).toBe('DISABLED')
    expect((await call()).status).toBe(401)
    expect((await operator.deleteAnyApiKey({ params, body: { reason } })).apiKeyStatus.code).toBe('DELETED')
    expect((await portico.mailTo('owner@demo.test', 'account-decision')).text).toContain('Leaked')
  })

  test('proposals.revokePermissions 200: immediately, by one operator, and never from oneself', async () => {
    const body = { permissionCodes: ['audit:read' as const], reason }
    const own = operator.revokeOperatorPermissions({ params: { account_id: await idOf(operator) }, body })
    await expect(own).rejects.toMatchObject(denied)
    const params = { account_id: await idOf(checker) }
    await operator.revokeOperatorPermissions({ params, body })
    await expect
      .poll(() =>
        checker.listAuditLog().then(
          () => 'open',
          (error) => error.code,
        ),
      )
      .toBe(denied.code)
    const { items } = await operator.listOperators({ query: { accountEmail: 'checker' } })
    expect(items[0]?.permissionCodes).not.toContain('audit:read')
    await expect(operator.revokeOperatorPermissions({ params, body })).rejects.toMatchObject(conflict)
  })

  test('wallets.listOf 200: with balances only for operators who read the ledger', async () => {
    const { workspace, mainUsd } = developmentIds
    const params = { workspace_id: workspace }
    const balanceFor = async (client: Client<'SYSTEM'>) =>
      (await client.listWalletsOf({ params })).find(({ bizId }) => bizId === mainUsd)?.balance
    const { asOf: _, ...balance } = await owner.readBalance({ workspaceId: workspace, params: { wallet_id: mainUsd } })
    expect(Number(balance.totalBalance)).toBeGreaterThan(0)
    expect(await balanceFor(checker)).toMatchObject(balance)
    const body = { permissionCodes: ['ledger:read' as const], reason }
    await operator.revokeOperatorPermissions({ params: { account_id: await idOf(checker) }, body })
    await expect.poll(() => balanceFor(checker)).toBe(null)
    expect(await balanceFor(operator)).toMatchObject(balance)
  })
})
