import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { workspacePermissions } from '../../../src/contract/index.ts'
import { developmentIds } from '../../../src/seed/development.ts'
import { unknownId } from '../../harness/catalogue.ts'
import { postWithDelayedEnd } from '../../harness/delayed-post.ts'
import type { Answer } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type AccessWorld, startAccessWorld } from '../access-world.ts'

const shared = developmentIds.workspace
function outcomeOf({ status, body }: Answer) {
  return [status, body.code]
}

describe('workspaces, roles, invitations and API keys', needsStore(), () => {
  let world: AccessWorld
  beforeAll(async () => {
    world = await startAccessWorld()
  })
  afterAll(() => world?.portico.stop())

  test('profile.update 200: the profile changes, and is read back', async () => {
    const body = { accountName: 'Đặng Thị Ngọc', defaultLanguage: 'vi', defaultTimezone: 'Asia/Ho_Chi_Minh' }
    const changed = await world.data(world.member, 'POST', '/profile/update', { body })
    expect(changed).toMatchObject(body)
    expect(await world.data(world.member, 'GET', '/profile')).toEqual(changed)
    const wrong = await world.call(world.member, 'POST', '/profile/update', { body: { accountEmail: 'x@y.test' } })
    expect(outcomeOf(wrong)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
  })

  test('constants 200: anonymous, in the language of X-LOCALE', async () => {
    const get = (path: string) =>
      world.portico.call('GET', `/web/v1/consumer/constants/${path}`, { headers: { 'x-locale': 'ja' } })
    const countries = await get('countries')
    expect(countries.body.data).toContainEqual({
      code: 'JP',
      label: '日本',
      alpha2Code: 'JP',
      alpha3Code: 'JPN',
      value: 392,
      numericCode: 392,
      phoneCode: '+81',
    })
    const timezones = await get('timezones')
    expect(timezones.body.data).toContainEqual(
      expect.objectContaining({ zoneIdCode: 'Asia/Tokyo', utcOffset: 'UTC+9', label: '日本標準時 (Tokyo)' }),
    )
  })

  test('workspaces 200: created, entered and made the default; 403 for other accounts', async () => {
    const mine = await world.workspace(world.member, 'Mine')
    const current = (workspace?: string) =>
      world.call(world.member, 'GET', '/workspaces/current', workspace ? { workspace } : {})
    expect((await current(mine)).body.data).toMatchObject({ workspaceName: 'Mine', workspaceKind: { code: 'LIVE' } })
    expect((await current()).body.data.bizId).toBe(shared)
    expect((await current(mine.toUpperCase())).body.data.bizId).toBe(mine)
    const created = await world.data(world.member, 'POST', '/workspaces/current/default', { workspace: mine })
    expect(created).toMatchObject({ isDefault: true, isOwner: true, joinSource: { code: 'CREATION' } })
    expect((await current()).body.data.bizId).toBe(mine)
    const wallets = await world.data(world.member, 'GET', '/wallets', { workspace: mine })
    const currencies = wallets.map(({ currency }: { currency: string }) => currency)
    expect(currencies).toEqual(world.portico.settings.money.currencies)
    for (const workspace of [mine, unknownId, 'x']) {
      const foreign = await world.call(world.owner, 'GET', '/workspaces/current', { workspace })
      expect(outcomeOf(foreign), workspace).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    }
    const leave = await world.call(world.member, 'POST', '/workspaces/current/leave', { workspace: mine })
    expect(outcomeOf(leave)).toEqual([422, 'WORKSPACE.LAST_OWNER'])
    await world.data(world.member, 'POST', '/workspaces/current/default', { workspace: shared })
  })

  test('roles 200: a changed role takes effect with the next request', async () => {
    const tree = await world.data(world.owner, 'GET', '/roles/permissions/tree', { workspace: shared })
    const codes = tree.flatMap((root: { permissionCode: string; children: { permissionCode: string }[] }) => [
      root.permissionCode,
      ...root.children.map((child) => child.permissionCode),
    ])
    expect(codes).toEqual([...workspacePermissions])
    const role = await world.data(world.owner, 'POST', '/roles', {
      workspace: shared,
      body: { roleName: 'Cashier', permissionCodes: ['wallet:read'] },
    })
    const { bizId: userBizId } = await world.data(world.member, 'GET', '/profile')
    const change = (roleBizId: string) =>
      world.call(world.owner, 'POST', '/roles/members/role/change', {
        workspace: shared,
        body: { userBizId, roleBizId },
      })
    const reads = async () => (await world.call(world.member, 'GET', '/roles', { workspace: shared })).status
    expect(await reads()).toBe(200)
    expect((await change(role.bizId)).body.data).toMatchObject({ workspaceRoleName: 'Cashier', isOwner: false })
    expect(await reads()).toBe(403)
    const permissionCodes = ['wallet:read', 'role:read']
    await world.data(world.owner, 'POST', '/roles/permissions', {
      workspace: shared,
      body: { roleBizId: role.bizId, permissionCodes },
    })
    expect(await reads()).toBe(200)
    const remove = (roleBizId: string) =>
      world.call(world.owner, 'POST', '/roles/delete', { workspace: shared, body: { roleBizId } })
    expect(outcomeOf(await remove(role.bizId))).toEqual([409, 'STATE.CONFLICT'])
    await change(developmentIds.memberRole)
    expect((await remove(role.bizId)).body.data).toBeNull()
    expect(outcomeOf(await remove(role.bizId))).toEqual([404, 'RESOURCE.NOT_FOUND'])
  })

  test('transfers.create 403 ACCESS.PERMISSION_DENIED: a delayed body does not outlive the right', async () => {
    const role = { roleName: 'Onlooker', permissionCodes: ['wallet:read'] }
    const { bizId: roleBizId } = await world.data(world.owner, 'POST', '/roles', { workspace: shared, body: role })
    const { bizId: userBizId } = await world.data(world.member, 'GET', '/profile')
    const change = (to: string) =>
      world.data(world.owner, 'POST', '/roles/members/role/change', {
        workspace: shared,
        body: { userBizId, roleBizId: to },
      })
    const { mainUsd, savingsUsd } = developmentIds
    const order = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '1.00', currency: 'USD' }
    const headers = { authorization: `Bearer ${world.member.accessToken}`, 'x-workspace-id': shared }
    const taken = Promise.withResolvers<void>()
    const transfer = postWithDelayedEnd(
      `${world.portico.url}/web/v1/consumer/transfer/command/create`,
      { headers, bytes: Buffer.from(JSON.stringify(order)) },
      taken.promise,
    )
    // The member can enter the workspace by then.
    await pause(100)
    await change(roleBizId)
    await pause(world.portico.settings.access.leaseMs + 50)
    taken.resolve()
    expect(await transfer).toMatchObject({ status: 403, body: { code: 'ACCESS.PERMISSION_DENIED' } })
    await change(developmentIds.memberRole)
  })

  test('invitations 200: mailed, visible to the invited account only, accepted', async () => {
    const workspace = await world.workspace(world.member, 'Open house')
    const role = await world.data(world.member, 'POST', '/roles', {
      workspace,
      body: { roleName: 'Guest', permissionCodes: ['workspace:read'] },
    })
    const body = { email: 'Owner@demo.test', roleBizId: role.bizId, message: 'Come in' }
    const created = await world.data(world.member, 'POST', '/invitations', { workspace, body })
    expect(created).toMatchObject({ inviteeEmail: 'owner@demo.test', invitationStatus: { code: 'PENDING' } })
    expect((await world.portico.mailTo('owner@demo.test', 'invitations.workspace-invitation')).text).toContain(
      'Come in',
    )
    expect(outcomeOf(await world.call(world.member, 'POST', '/invitations', { workspace, body }))).toEqual([
      409,
      'STATE.CONFLICT',
    ])
    const response = { invitationBizId: created.bizId }
    expect(
      outcomeOf(await world.call(world.member, 'POST', '/profile/invitations/accept', { body: response })),
    ).toEqual([404, 'RESOURCE.NOT_FOUND'])
    const [mine] = await world.data(world.owner, 'GET', '/profile/invitations')
    expect(mine).toEqual(created)
    const accepted = await world.data(world.owner, 'POST', '/profile/invitations/accept', { body: response })
    expect(accepted.invitationStatus.code).toBe('ACCEPTED')
    expect((await world.data(world.owner, 'GET', '/workspaces/current', { workspace })).workspaceName).toBe(
      'Open house',
    )
    expect((await world.call(world.owner, 'POST', '/workspaces/current/leave', { workspace })).body).toMatchObject({
      success: true,
      data: null,
    })
    expect((await world.call(world.owner, 'GET', '/workspaces/current', { workspace })).status).toBe(403)
  })

  test('API keys 200 on the machine chain, 403 on every other one', async () => {
    const created = await world.data(world.owner, 'POST', '/api-keys', {
      workspace: shared,
      body: { apiKeyName: 'Till', permissionCodes: ['wallet:read'] },
    })
    const machine = (path: string, token = created.secret) =>
      world.portico.call('GET', path, { headers: { authorization: `Bearer ${token}` } })
    const wallets = await machine('/api/v1/consumer/wallets')
    expect(wallets.status, wallets.text).toBe(200)
    expect(wallets.body.data).toHaveLength(3)
    expect(outcomeOf(await machine('/api/v1/consumer/transfer/query/orders'))).toEqual([
      403,
      'ACCESS.PERMISSION_DENIED',
    ])
    expect(outcomeOf(await machine('/web/v1/consumer/wallets'))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    const forged = `${created.secret.slice(0, -4)}AAAA`
    expect(outcomeOf(await machine('/api/v1/consumer/wallets', forged))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    const shown = await world.call(world.owner, 'GET', `/api-keys/${created.bizId}`, { workspace: shared })
    expect(shown.text).not.toContain(created.secret)
    expect(shown.body.data.keyPrefix).toBe(created.keyPrefix)
    await world.data(world.owner, 'POST', '/api-keys/disable', {
      workspace: shared,
      body: { apiKeyBizId: created.bizId },
    })
    expect(outcomeOf(await machine('/api/v1/consumer/wallets'))).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    const list = await world.data(world.owner, 'GET', '/api-keys', { workspace: shared })
    expect(list.items).toHaveLength(1)
  })

  test('sandbox.reset 200: restores the opening balances of a sandbox; 403 in a LIVE workspace', async () => {
    const live = await world.call(world.owner, 'POST', '/sandbox/reset', { workspace: shared })
    expect(outcomeOf(live)).toEqual([403, 'ACCESS.PERMISSION_DENIED'])
    const [from, to] = [
      await world.workspace(world.owner, 'Play', 'SANDBOX'),
      await world.workspace(world.owner, 'Play too', 'SANDBOX'),
    ]
    const walletIn = async (workspace: string): Promise<string> => {
      const wallets = await world.data(world.owner, 'GET', '/wallets', { workspace })
      return wallets.find(({ currency }: { currency: string }) => currency === 'USD').bizId
    }
    const [source, target] = [await walletIn(from), await walletIn(to)]
    await world.data(world.owner, 'POST', '/transfer/command/create', {
      workspace: from,
      headers: { 'x-request-id': randomUUID() },
      body: { sourceWalletBizId: source, targetWalletBizId: target, amount: '250.00', currency: 'USD' },
    })
    const balance = async (workspace: string, wallet: string): Promise<string> =>
      (await world.data(world.owner, 'GET', `/wallets/${wallet}/balance`, { workspace })).totalBalance
    expect([await balance(from, source), await balance(to, target)]).toEqual(['9750.00', '10250.00'])
    expect(await world.data(world.owner, 'POST', '/sandbox/reset', { workspace: from })).toMatchObject({
      success: true,
    })
    expect([await balance(from, source), await balance(to, target)]).toEqual(['10000.00', '10250.00'])
  })
})
