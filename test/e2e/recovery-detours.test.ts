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
    expect(refusal(await portico.call('GET', '/api/v1/consumer/wallets', { headers }))).toEqual(denied)
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
})
