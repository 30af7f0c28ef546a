import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { client, data, linkToken, newcomer, otherPassword, refusal } from '../harness/identity.ts'
import { type Portico, startPortico } from '../harness/portico.ts'

type Newcomer = Awaited<ReturnType<typeof newcomer>>
const denied = [403, 'ACCESS.PERMISSION_DENIED']
const hold = 72 * 3_600_000

describe('a detour around the recovery of an account', () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ access, money }) => {
        access.payoutHoldMs = hold
        money.stepUpAbove = { currency: 'USD', amount: '5000.00', apiKeys: 'refuse' }
      },
    })
  })
  afterAll(() => portico?.stop())
  const inWorkspaceOf = async (owner: Newcomer) => {
    const [{ workspaceBizId }] = data(await owner.by.get('/workspaces/mine', owner.token))
    const within = { 'x-workspace-id': workspaceBizId }
    return {
      workspaceBizId,
      post: (as: Pick<Newcomer, 'by' | 'token'>, path: string, body: object = {}) =>
        as.by.post(path, body, as.token, { ...within, 'x-request-id': randomUUID() }),
      get: (as: Pick<Newcomer, 'by' | 'token'>, path: string) => as.by.get(path, as.token, within),
    }
  }
  type Workspace = Awaited<ReturnType<typeof inWorkspaceOf>>
  const join = async (at: Workspace, inviter: Newcomer, guest: Newcomer, roleBizId: string): Promise<void> => {
    const { bizId } = data(await at.post(inviter, '/invitations', { email: guest.email, roleBizId }))
    data(await guest.by.post('/profile/invitations/accept', { invitationBizId: bizId }, guest.token))
  }
  const recover = async (owner: Newcomer) => {
    const by = client(portico)
    data(await by.post('/auth/password/forgot', { email: owner.email, turnstileToken: '' }))
    const token = linkToken((await portico.mailTo(owner.email, 'password-reset')).text)
    return data(await by.post('/auth/password/reset', { token, newPassword: otherPassword }))
  }
  const manager = ['role:manage', 'role:read', 'member:manage', 'member:read', 'invitation:manage', 'api-key:manage']
  const powers = [...manager, 'wallet:read']

  test('password.reset 200: the middle member leaves; whom it brought in is out, with keys and invitations', async () => {
    const owner = await newcomer(portico)
    const [stranger, friend] = [await newcomer(portico), await newcomer(portico)]
    const at = await inWorkspaceOf(owner)
    const { bizId: given } = data(await at.post(owner, '/roles', { roleName: 'Given', permissionCodes: powers }))
    await join(at, owner, stranger, given)
    const { bizId: own } = data(await at.post(stranger, '/roles', { roleName: 'Own', permissionCodes: powers }))
    await join(at, stranger, friend, own)
    const { secret } = data(
      await at.post(friend, '/api-keys', { apiKeyName: 'Till', permissionCodes: ['wallet:read'] }),
    )
    data(await at.post(stranger, '/workspaces/current/leave'))
    await recover(owner)
    expect(refusal(await at.get(friend, '/wallets'))).toEqual(denied)
    const headers = { authorization: `Bearer ${secret}` }
    expect((await portico.call('GET', '/api/v1/consumer/wallets', { headers })).status).toBe(401)
    const invitation = { email: `${randomUUID()}@example.test`, roleBizId: own }
    expect(refusal(await at.post(friend, '/invitations', invitation))).toEqual(denied)
  })

  test('password.reset 200: two members who change each other’s role are out and restore no role', async () => {
    const owner = await newcomer(portico)
    const [stranger, friend] = [await newcomer(portico), await newcomer(portico)]
    const at = await inWorkspaceOf(owner)
    const { bizId: given } = data(await at.post(owner, '/roles', { roleName: 'Given', permissionCodes: powers }))
    await join(at, owner, stranger, given)
    const { bizId: own } = data(await at.post(stranger, '/roles', { roleName: 'Own', permissionCodes: powers }))
    const less = { roleName: 'Less', permissionCodes: ['wallet:read'] }
    const { bizId: lessId } = data(await at.post(stranger, '/roles', less))
    await join(at, stranger, friend, own)
    for (const roleBizId of [lessId, own])
      data(await at.post(friend, '/roles/members/role/change', { userBizId: stranger.accountId, roleBizId }))
    await recover(owner)
    for (const member of [stranger, friend]) expect(refusal(await at.get(member, '/wallets'))).toEqual(denied)
    expect(refusal(await at.post(stranger, '/roles/restore', { roleBizId: given }))).toEqual(denied)
  })

  const suspendedRoles = async (at: Workspace, owner: Newcomer): Promise<string[]> =>
    data(await at.get(owner, '/roles/suspended')).map(({ bizId }: { bizId: string }) => bizId)
  const ownersOf = async (at: Workspace, owner: Newcomer): Promise<string> =>
    data(await at.get(owner, '/roles')).find(
      ({ roleType }: { roleType: { code: string } }) => roleType.code === 'OWNER',
    ).bizId
  /** A workspace with two owners. */
  const withTwoOwners = async () => {
    const [founder, owner] = [await newcomer(portico), await newcomer(portico)]
    const at = await inWorkspaceOf(founder)
    const owners = await ownersOf(at, founder)
    await join(at, founder, owner, owners)
    return { founder, owner, at, owners }
  }

  test('password.reset 200: whom a member of a widened role brings in is out, and restores nothing', async () => {
    const { founder, owner, at } = await withTwoOwners()
    const [clerk, friend] = [await newcomer(portico), await newcomer(portico)]
    const reading = { roleName: 'Clerks', permissionCodes: ['wallet:read'] }
    const { bizId: clerks } = data(await at.post(founder, '/roles', reading))
    await join(at, founder, clerk, clerks)
    data(await at.post(owner, '/roles/permissions', { roleBizId: clerks, permissionCodes: powers }))
    const { bizId: archive } = data(await at.post(clerk, '/roles', { roleName: 'Archive', permissionCodes: powers }))
    await join(at, clerk, friend, archive)
    await recover(owner)
    expect(refusal(await at.get(friend, '/wallets'))).toEqual(denied)
    for (const member of [clerk, friend]) {
      expect(refusal(await at.post(member, '/roles/restore', { roleBizId: clerks }))).toEqual(denied)
      const restore = { userBizId: friend.accountId }
      expect(refusal(await at.post(member, '/roles/members/restore', restore))).toEqual(denied)
    }
    expect((await at.get(clerk, '/wallets')).status).toBe(200)
    expect(await suspendedRoles(at, founder)).toEqual(expect.arrayContaining([archive, clerks]))
  })

  test('password.reset 200: a grant that another owner confirmed survives, with what it gave', async () => {
    const { founder, owner, at, owners } = await withTwoOwners()
    const [lead, friend] = [await newcomer(portico), await newcomer(portico)]
    const reading = { roleName: 'Readers', permissionCodes: ['wallet:read'] }
    const { bizId: readers } = data(await at.post(founder, '/roles', reading))
    await join(at, owner, lead, readers)
    const change = (userBizId: string, roleBizId: string) =>
      at.post(founder, '/roles/members/role/change', { userBizId, roleBizId })
    data(await change(lead.accountId, owners))
    data(await change(owner.accountId, readers))
    await join(at, lead, friend, readers)
    await recover(owner)
    for (const member of [lead, friend]) expect((await at.get(member, '/wallets')).status).toBe(200)
  })

  test('password.reset 200: two stolen owners who confirm each other’s grant keep nobody', async () => {
    const { founder, owner, at, owners } = await withTwoOwners()
    const [second, stranger] = [await newcomer(portico), await newcomer(portico)]
    await join(at, founder, second, owners)
    const { bizId: given } = data(await at.post(founder, '/roles', { roleName: 'Given', permissionCodes: powers }))
    const reading = { roleName: 'Readers', permissionCodes: ['wallet:read'] }
    const { bizId: readers } = data(await at.post(founder, '/roles', reading))
    await join(at, owner, stranger, readers)
    data(await at.post(second, '/roles/members/role/change', { userBizId: stranger.accountId, roleBizId: given }))
    await recover(owner)
    await recover(second)
    expect(refusal(await at.get(stranger, '/wallets'))).toEqual(denied)
  })

  test('password.reset 200: what the recovered account enabled is suspended, like what it created', async () => {
    const { founder, owner, at } = await withTwoOwners()
    const second = await newcomer(portico)
    await join(at, founder, second, await ownersOf(at, founder))
    const { bizId: given } = data(await at.post(founder, '/roles', { roleName: 'Given', permissionCodes: powers }))
    const stranger = await newcomer(portico)
    const { bizId: invitationBizId } = data(
      await at.post(owner, '/invitations', { email: stranger.email, roleBizId: given }),
    )
    const key = { apiKeyName: 'Till', permissionCodes: ['wallet:read'] }
    const { bizId: apiKeyBizId, secret } = data(await at.post(owner, '/api-keys', key))
    await recover(owner)
    data(await at.post(second, '/invitations/confirm', { invitationBizId }))
    data(await at.post(second, '/api-keys/enable', { apiKeyBizId }))
    await recover(second)
    const listed = data(await at.get(founder, '/invitations?invitationStatus=SUSPENDED'))
    expect(listed.map(({ bizId }: { bizId: string }) => bizId)).toEqual([invitationBizId])
    expect(refusal(await stranger.by.post('/profile/invitations/accept', { invitationBizId }, stranger.token))).toEqual(
      [409, 'STATE.CONFLICT'],
    )
    const headers = { authorization: `Bearer ${secret}` }
    expect((await portico.call('GET', '/api/v1/consumer/wallets', { headers })).status).toBe(401)
  })
})
