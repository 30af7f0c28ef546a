import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  client,
  data,
  goodPassword,
  linkToken,
  newcomer,
  otherPassword,
  refusal,
  signInOnly,
  stepUp,
} from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { payoutAccount } from '../../harness/payout-account.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { signIn as signInOperator } from '../../harness/sign-in.ts'

const stepUpRequired = [403, 'ACCESS.STEP_UP_REQUIRED']
const held = [403, 'ACCESS.PAYOUT_HOLD']
const denied = [403, 'ACCESS.PERMISSION_DENIED']
const conflict = [409, 'STATE.CONFLICT']
const hold = 72 * 3_600_000

type Newcomer = Awaited<ReturnType<typeof newcomer>>
interface Node {
  permissionCode: string
  children: Node[]
}
function codesIn(nodes: Node[]): string[] {
  return nodes.flatMap(({ permissionCode, children }) => [permissionCode, ...codesIn(children)])
}

describe('a detour from a stolen session to the money', needsStore(), () => {
  let portico: Portico
  let operator: string
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ access, money }) => {
        access.payoutHoldMs = hold
        money.stepUpAbove = { currency: 'USD', amount: '5000.00', apiKeys: 'refuse' }
      },
    })
    operator = (await signInOperator(portico, 'operator@demo.test')).accessToken
  })
  afterAll(() => portico?.stop())

  const system = (method: string, path: string, body?: object) =>
    portico.call(method, `/web/v1/system${path}`, { token: operator, ...(body && { body }) })

  /** Calls in the workspace that the owner's registration opened. */
  const inWorkspaceOf = async (owner: Newcomer) => {
    const [{ workspaceBizId }] = data(await owner.by.get('/workspaces/mine', owner.token))
    const within = { 'x-workspace-id': workspaceBizId }
    return {
      workspaceBizId,
      post: (as: Pick<Newcomer, 'by' | 'token'>, path: string, body: object) =>
        as.by.post(path, body, as.token, { ...within, 'x-request-id': randomUUID() }),
      get: (as: Pick<Newcomer, 'by' | 'token'>, path: string) => as.by.get(path, as.token, within),
    }
  }
  type Workspace = Awaited<ReturnType<typeof inWorkspaceOf>>

  const noticesTo = async (email: string) =>
    (await portico.mailsTo(email)).flatMap(({ template, text }) =>
      template === 'members.workspace-notice' ? [text] : [],
    )
  const assertTold = (email: string, text: string) =>
    expect.poll(() => noticesTo(email)).toContainEqual(expect.stringContaining(text))

  const allCodes = async (at: Workspace, owner: Newcomer): Promise<string[]> =>
    codesIn(data(await at.get(owner, '/roles/permissions/tree')))

  const join = async (at: Workspace, inviter: Newcomer, guest: Newcomer, roleBizId: string): Promise<void> => {
    const { bizId } = data(await at.post(inviter, '/invitations', { email: guest.email, roleBizId }))
    data(await guest.by.post('/profile/invitations/accept', { invitationBizId: bizId }, guest.token))
  }

  const walletOf = async (at: Workspace, as: Newcomer): Promise<string> => {
    const wallets: { bizId: string; currency: string }[] = data(await at.get(as, '/wallets'))
    return wallets.find(({ currency }) => currency === 'USD')?.bizId ?? ''
  }

  test('roles, invitations 403 ACCESS.STEP_UP_REQUIRED: each link of the chain that gives a power', async () => {
    const owner = await newcomer(portico, client(portico), signInOnly)
    const at = await inWorkspaceOf(owner)
    const codes = await allCodes(at, owner)
    expect(codes).toHaveLength(31)
    const role = (roleName: string, permissionCodes: string[]) =>
      at.post(owner, '/roles', { roleName, permissionCodes })
    expect(refusal(await role('Everything', codes))).toEqual(stepUpRequired)
    for (const code of ['transfer:create', 'withdrawal-channel:manage', 'invitation:manage', 'api-key:manage'])
      expect(refusal(await role('One power', [code])), code).toEqual(stepUpRequired)
    expect(refusal(await at.post(owner, '/roles', {}))).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    const readers = data(await role('Readers', ['wallet:read', 'exchange:create', 'wallet:create']))
    const guest = `${randomUUID()}@example.test`
    data(await at.post(owner, '/invitations', { email: guest, roleBizId: readers.bizId }))

    const [owners] = data(await at.get(owner, '/roles'))
    const invite = (roleBizId: string) => at.post(owner, '/invitations', { email: `x${guest}`, roleBizId })
    expect(refusal(await invite(owners.bizId))).toEqual(stepUpRequired)
    const widen = { roleBizId: readers.bizId, permissionCodes: ['transfer:create'] }
    expect(refusal(await at.post(owner, '/roles/permissions', widen))).toEqual(stepUpRequired)
    const steppedUp = { by: owner.by, token: (await signInOnly(portico, owner.by, owner.email)).accessToken }
    await stepUp(portico, owner.by, owner.email, steppedUp.token)
    const { bizId: payers } = data(
      await at.post(steppedUp, '/roles', { roleName: 'Payers', permissionCodes: ['transfer:create'] }),
    )
    expect(refusal(await invite(payers))).toEqual(stepUpRequired)
    expect((await invite(readers.bizId)).status).toBe(200)

    const rename = { roleBizId: payers, roleName: 'Viewers' }
    expect(refusal(await at.post(owner, '/roles/update', rename))).toEqual(stepUpRequired)
    expect(refusal(await at.post(owner, '/roles/delete', { roleBizId: payers }))).toEqual(stepUpRequired)
    data(await at.post(steppedUp, '/roles/update', rename))
    await assertTold(owner.email, 'Payers → Viewers')
    data(await at.post(owner, '/roles/update', { roleBizId: readers.bizId, roleName: 'Guests' }))
    data(await at.post(steppedUp, '/roles/delete', { roleBizId: payers }))
  })

  test('roles.create 400, roles.update 400: names with invisible characters or another direction', async () => {
    const owner = await newcomer(portico)
    const at = await inWorkspaceOf(owner)
    for (const roleName of ['Trea\u202esurer', 'Treasurer\u200b']) {
      const reply = await at.post(owner, '/roles', { roleName, permissionCodes: [] })
      expect(refusal(reply)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
      expect(reply.body.message).toContain('roleName')
    }
  })

  test('roles.setPermissions 200: pending invitations to a role that gains a power must be confirmed', async () => {
    const [owner, guest] = [await newcomer(portico), await newcomer(portico)]
    const at = await inWorkspaceOf(owner)
    const reading = { roleName: 'Readers', permissionCodes: ['wallet:read'] }
    const { bizId: roleBizId } = data(await at.post(owner, '/roles', reading))
    const { bizId: invitationBizId } = data(await at.post(owner, '/invitations', { email: guest.email, roleBizId }))
    data(await at.post(owner, '/roles/permissions', { roleBizId, permissionCodes: ['wallet:read', 'exchange:create'] }))
    const paying = { roleBizId, permissionCodes: ['wallet:read', 'transfer:create'] }
    data(await at.post(owner, '/roles/permissions', paying))
    const accept = () => guest.by.post('/profile/invitations/accept', { invitationBizId }, guest.token)
    expect(refusal(await accept())).toEqual(conflict)
    data(await at.post(owner, '/invitations/confirm', { invitationBizId }))
    data(await accept())
    await assertTold(owner.email, 'A new member who can move money has joined.')
    const [sourceWalletBizId, targetWalletBizId] = [
      await walletOf(at, guest),
      await walletOf(await inWorkspaceOf(guest), guest),
    ]
    const transfer = { sourceWalletBizId, targetWalletBizId, amount: '1.00', currency: 'USD' }
    expect(refusal(await at.post(guest, '/transfer/command/create', transfer))).toEqual(held)
  })

  test('transfers, withdrawalChannels 403 ACCESS.PAYOUT_HOLD: one stepped-up window; recovery ends it', async () => {
    const owner = await newcomer(portico)
    const [stranger, second] = [await newcomer(portico), await newcomer(portico)]
    const at = await inWorkspaceOf(owner)
    const everything = { roleName: 'Everything', permissionCodes: await allCodes(at, owner) }
    const { bizId: roleBizId } = data(await at.post(owner, '/roles', everything))
    await assertTold(owner.email, 'A role that can move money has been created.')
    await join(at, owner, stranger, roleBizId)
    await assertTold(owner.email, 'A new member who can move money has joined.')

    const home = await inWorkspaceOf(stranger)
    const transfer = {
      sourceWalletBizId: await walletOf(at, stranger),
      targetWalletBizId: await walletOf(home, stranger),
      amount: '1.00',
      currency: 'USD',
    }
    expect(refusal(await at.post(stranger, '/transfer/command/create', transfer))).toEqual(held)
    expect(refusal(await at.post(stranger, '/withdrawal-channels', payoutAccount()))).toEqual(held)
    const key = (permissionCodes: string[]) => at.post(stranger, '/api-keys', { apiKeyName: 'Till', permissionCodes })
    expect(refusal(await key(['transfer:create']))).toEqual(held)
    const { secret } = data(await key(['wallet:read']))
    const useKey = () =>
      portico.call('GET', '/api/v1/consumer/wallets', { headers: { authorization: `Bearer ${secret}` } })
    expect((await useKey()).status).toBe(200)
    expect(refusal(await at.post(stranger, '/roles', { ...everything, roleName: 'More' }))).toEqual(held)
    const readers = { roleName: 'Readers', permissionCodes: ['wallet:read'] }
    const { bizId: readersId } = data(await at.post(stranger, '/roles', readers))
    await join(at, stranger, second, readersId)
    expect((await at.get(second, '/wallets')).status).toBe(200)

    data(await owner.by.post('/auth/password/forgot', { email: owner.email, turnstileToken: '' }))
    const token = linkToken((await portico.mailTo(owner.email, 'password-reset')).text)
    data(await owner.by.post('/auth/password/reset', { token, newPassword: otherPassword }))
    expect(refusal(await at.get(stranger, '/wallets'))).toEqual(denied)
    expect(refusal(await at.get(second, '/wallets'))).toEqual(denied)
    expect(refusal(await useKey())).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    expect((await home.get(stranger, '/wallets')).status).toBe(200)
    const { items } = data(await system('GET', `/audit-log?action=password.reset&targetId=${owner.accountId}`))
    const suspended = (items as { detail: Record<string, unknown> }[]).find(
      ({ detail }) => 'suspended.members' in detail,
    )
    expect(suspended?.detail).toMatchObject({ 'suspended.members': 2, 'suspended.roles': 2 })
    expect(String(suspended?.detail['suspended.members.ids']).split(',').sort()).toEqual(
      [stranger.accountId, second.accountId].sort(),
    )

    const session = await signInOnly(portico, owner.by, owner.email, otherPassword)
    const back = { by: owner.by, token: session.accessToken }
    const members: { items: { userBizId: string; suspendedAt: string | null }[] } = data(
      await at.get(back, '/roles/members'),
    )
    expect(members.items.filter(({ suspendedAt }) => suspendedAt === null).map(({ userBizId }) => userBizId)).toEqual([
      owner.accountId,
    ])
    const roles: { bizId: string; permissionCodes: string[] }[] = data(await at.get(back, '/roles/suspended'))
    expect(roles.map(({ bizId }) => bizId).sort()).toEqual([roleBizId, readersId].sort())
    expect(data(await at.get(back, `/roles/${roleBizId}`)).permissionCodes).toEqual([])

    const restoreRole = () => at.post(back, '/roles/restore', { roleBizId: readersId })
    const restoreMember = () => at.post(back, '/roles/members/restore', { userBizId: second.accountId })
    expect(refusal(await restoreRole())).toEqual(stepUpRequired)
    expect(refusal(await restoreMember())).toEqual(stepUpRequired)
    await stepUp(portico, owner.by, owner.email, back.token)
    expect(data(await restoreRole()).permissionCodes).toEqual(['wallet:read'])
    data(await restoreMember())
    expect(refusal(await restoreRole())).toEqual(conflict)
    expect(refusal(await restoreMember())).toEqual(conflict)
    expect((await at.get(second, '/wallets')).status).toBe(200)
    expect(refusal(await at.get(stranger, '/wallets'))).toEqual(denied)
  })

  test('apiKeys.enable 403: without a step-up, and after an operator disabled the key; owners get a mail', async () => {
    const owner = await newcomer(portico)
    const at = await inWorkspaceOf(owner)
    const body = { apiKeyName: 'Till', permissionCodes: ['wallet:read'] }
    const { bizId: apiKeyBizId } = data(await at.post(owner, '/api-keys', body))
    const command = (name: string, as: Pick<Newcomer, 'by' | 'token'> = owner) =>
      at.post(as, `/api-keys/${name}`, { apiKeyBizId })
    const bare = { by: owner.by, token: (await signInOnly(portico, owner.by, owner.email)).accessToken }
    data(await command('disable', bare))
    expect(refusal(await command('enable', bare))).toEqual(stepUpRequired)
    expect(data(await command('enable')).apiKeyStatus.code).toBe('ACTIVE')
    await assertTold(owner.email, 'An API key has been enabled.')

    const byOperator = (name: string) =>
      system('POST', `/api-keys/${apiKeyBizId}/${name}`, { reason: 'reported as stolen' })
    expect(refusal(await byOperator('enable'))).toEqual(conflict)
    data(await command('disable'))
    expect(refusal(await byOperator('enable'))).toEqual(conflict)
    data(await command('enable'))
    data(await byOperator('disable'))
    expect(refusal(await command('enable'))).toEqual(denied)
    data(await system('POST', `/accounts/${owner.accountId}/sessions/terminate`))
    const again = { by: owner.by, token: (await signInOnly(portico, owner.by, owner.email, goodPassword)).accessToken }
    await stepUp(portico, owner.by, owner.email, again.token)
    expect(refusal(await command('enable', again))).toEqual(denied)
    expect(data(await byOperator('enable')).apiKeyStatus.code).toBe('SUSPENDED')
    expect(data(await command('enable', again)).apiKeyStatus.code).toBe('ACTIVE')
    data(await byOperator('disable'))
    expect(data(await byOperator('enable')).apiKeyStatus.code).toBe('ACTIVE')
  })

  test('apiKeys.disableAny 200: a key that its holder has disabled; only operators let it be enabled', async () => {
    const owner = await newcomer(portico)
    const at = await inWorkspaceOf(owner)
    const { bizId: apiKeyBizId } = data(
      await at.post(owner, '/api-keys', { apiKeyName: 'Till', permissionCodes: ['wallet:read'] }),
    )
    const bare = { by: owner.by, token: (await signInOnly(portico, owner.by, owner.email)).accessToken }
    data(await at.post(bare, '/api-keys/disable', { apiKeyBizId }))
    const byOperator = (name: string) => system('POST', `/api-keys/${apiKeyBizId}/${name}`, { reason: 'stolen' })
    const enable = () => at.post(owner, '/api-keys/enable', { apiKeyBizId })
    data(await byOperator('disable'))
    expect(refusal(await byOperator('disable'))).toEqual(conflict)
    expect(refusal(await enable())).toEqual(denied)
    expect(data(await byOperator('enable')).apiKeyStatus.code).toBe('SUSPENDED')
    expect(data(await enable()).apiKeyStatus.code).toBe('ACTIVE')
  })

  test('workspaces.leave 403 ACCESS.STEP_UP_REQUIRED: an owner; other members leave without a step-up', async () => {
    const owner = await newcomer(portico)
    const [second, guest] = [await newcomer(portico), await newcomer(portico)]
    const at = await inWorkspaceOf(owner)
    const [owners] = data(await at.get(owner, '/roles'))
    await join(at, owner, second, owners.bizId)
    const readers = { roleName: 'Readers', permissionCodes: ['wallet:read'] }
    await join(at, owner, guest, data(await at.post(owner, '/roles', readers)).bizId)
    const bare = async ({ by, email }: Newcomer) => ({ by, token: (await signInOnly(portico, by, email)).accessToken })
    const leave = (as: Pick<Newcomer, 'by' | 'token'>) => at.post(as, '/workspaces/current/leave', {})
    expect(refusal(await leave(await bare(owner)))).toEqual(stepUpRequired)
    expect((await at.get(owner, '/wallets')).status).toBe(200)
    data(await leave(await bare(guest)))
    data(await leave(owner))
  })

  test('roles.setPermissions 200: harmless changes do not use up the mail about one that moves money', async () => {
    const owner = await newcomer(portico)
    const at = await inWorkspaceOf(owner)
    const { bizId: roleBizId } = data(await at.post(owner, '/roles', { roleName: 'Noise', permissionCodes: [] }))
    const set = (permissionCodes: string[]) => at.post(owner, '/roles/permissions', { roleBizId, permissionCodes })
    for (let change = 0; change < 21; change++) {
      data(await set(['wallet:read']))
      data(await set([]))
    }
    await expect.poll(async () => (await noticesTo(owner.email)).length, { timeout: 20_000 }).toBe(20)
    data(await set(['role:manage']))
    await expect.poll(async () => (await noticesTo(owner.email)).length, { timeout: 20_000 }).toBe(21)
    data(await set(['role:manage', 'withdrawal:create']))
    await expect.poll(async () => (await noticesTo(owner.email)).length, { timeout: 20_000 }).toBe(22)
  })

  test('roles.changeMember 200: repetitions about one member do not use up the mail about another one', async () => {
    const owner = await newcomer(portico)
    const [noisy, next] = [await newcomer(portico), await newcomer(portico)]
    const at = await inWorkspaceOf(owner)
    const role = async (roleName: string, permissionCodes: string[]) =>
      data(await at.post(owner, '/roles', { roleName, permissionCodes })).bizId
    const [readers, payers] = [await role('Readers', ['wallet:read']), await role('Payers', ['transfer:create'])]
    for (const guest of [noisy, next]) await join(at, owner, guest, readers)
    const change = async ({ accountId: userBizId }: Newcomer, roleBizId: string) =>
      data(await at.post(owner, '/roles/members/role/change', { userBizId, roleBizId }))
    for (let time = 0; time < 22; time++) {
      await change(noisy, payers)
      await change(noisy, readers)
    }
    await change(next, payers)
    const subject = next.email.replace('.', '[.]')
    await expect
      .poll(() => noticesTo(owner.email), { timeout: 20_000 })
      .toContainEqual(expect.stringContaining(subject))
  })

  test('apiKeys.enableAny 200: harmless keys do not use up the mail about one that moves money', async () => {
    const owner = await newcomer(portico)
    const at = await inWorkspaceOf(owner)
    const create = async (apiKeyName: string, permissionCodes: string[]) =>
      data(await at.post(owner, '/api-keys', { apiKeyName, permissionCodes })).bizId
    const apiKeyBizId = await create('Harmless', ['wallet:read'])
    const paying = await create('Paying', ['transfer:create'])
    for (let change = 0; change < 21; change++)
      for (const name of ['disable', 'enable']) data(await at.post(owner, `/api-keys/${name}`, { apiKeyBizId }))
    const enabled = async () =>
      (await noticesTo(owner.email)).filter((text) => text.includes('has been enabled')).length
    await expect.poll(enabled, { timeout: 20_000 }).toBe(20)
    for (const name of ['disable', 'enable'])
      data(await system('POST', `/api-keys/${paying}/${name}`, { reason: 'reported as stolen' }))
    await expect.poll(enabled, { timeout: 20_000 }).toBe(21)
  })
})
