import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import type { Answer } from '../../harness/http.ts'
import { client, data, newcomer } from '../../harness/identity.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { signIn } from '../../harness/sign-in.ts'

function outcomeOf({ status, body }: Answer) {
  return [status, body.code]
}

describe('API keys', needsStore(), () => {
  let portico: Portico
  let at: Awaited<ReturnType<typeof newcomer>>
  let workspace: string
  beforeAll(async () => {
    portico = await startPortico()
    at = await newcomer(portico)
    workspace = data(await at.by.get('/workspaces/current', at.token)).bizId
  })
  afterAll(() => portico?.stop())

  const get = (path: string) => at.by.get(path, at.token, { 'x-workspace-id': workspace })
  const post = (path: string, body: object) => at.by.post(path, body, at.token, { 'x-workspace-id': workspace })
  const create = async (apiKeyName: string, more: object = {}) =>
    data(await post('/api-keys', { apiKeyName, permissionCodes: ['wallet:read'], ...more }))
  const use = (secret: string, ip = at.by.ip): Promise<Answer> =>
    portico.call('GET', '/api/v1/consumer/wallets', {
      headers: { authorization: `Bearer ${secret}`, 'cf-connecting-ip': ip },
    })

  test('apiKeys.list 200: searches the beginning of the public part only', async () => {
    const created = await create('Searched')
    const { keyPrefix, bizId, secret } = created
    for (const part of [keyPrefix, keyPrefix.slice(0, 9)]) {
      const { items } = data(await get(`/api-keys?keyPrefix=${part}`))
      expect(items.map((key: { bizId: string }) => key.bizId)).toContain(bizId)
    }
    const other = keyPrefix.endsWith('0') ? `${keyPrefix.slice(0, -1)}1` : `${keyPrefix.slice(0, -1)}0`
    expect(data(await get(`/api-keys?keyPrefix=${other}`)).items).toEqual([])
    for (const wrong of ['', 'ptk', 'ptk_%25', 'ptk_XY', keyPrefix.toUpperCase(), `${keyPrefix}0`, secret]) {
      expect(outcomeOf(await get(`/api-keys?keyPrefix=${wrong}`)), wrong).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    }
  })

  test('apiKeys.list 200: shows time and address of the last use', async () => {
    const { secret, bizId } = await create('Used')
    expect((await use(secret, '198.51.100.23')).status).toBe(200)
    await expect.poll(async () => data(await get(`/api-keys/${bizId}`)).lastUsedIp).toBe('198.51.100.23')
  })

  test('transfers.create 200: the audit log names the key, its creator and its permissions', async () => {
    const { accessToken: token } = await signIn(portico)
    const { workspace: demo, mainUsd, savingsUsd } = developmentIds
    const permissionCodes = ['transfer:create', 'wallet:read']
    const body = { apiKeyName: 'Payer', permissionCodes }
    const key = data(await portico.call('POST', '/web/v1/consumer/api-keys', { token, workspace: demo, body }))
    const transfer = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '1.25', currency: 'USD' }
    const path = '/api/v1/consumer/transfer/command/create'
    const order = data(await portico.call('POST', path, { token: key.secret, body: transfer }))
    const { accessToken: operator } = await signIn(portico, 'operator@demo.test')
    const listActs = async (targetId: string) =>
      data(await portico.call('GET', `/web/v1/system/audit-log?targetId=${targetId}`, { token: operator })).items
    expect(await listActs(key.bizId)).toMatchObject([
      { action: 'apiKeys.create', detail: { permissions: permissionCodes.join(',') } },
    ])
    const { bizId: owner } = data(await portico.call('GET', '/web/v1/consumer/profile', { token }))
    expect(await listActs(order.bizId)).toMatchObject([
      { action: 'transfers.create', actorBizId: owner, detail: { apiKey: key.bizId } },
    ])
  })

  test('403 ACCESS.IP_NOT_ALLOWED: the list of the key applies, or else the whitelist of its creator', async () => {
    const free = (await create('Free')).secret
    const bound = (await create('Bound', { ipAllowlist: ['192.0.2.0/24'] })).secret
    const away = client(portico).ip
    expect([(await use(free, away)).status, (await use(bound, '192.0.2.8')).status]).toEqual([200, 200])
    expect(outcomeOf(await use(bound))).toEqual([403, 'ACCESS.IP_NOT_ALLOWED'])
    data(await post('/security/ip-whitelist', { addresses: [at.by.ip] }))
    expect((await post('/security/ip-whitelist/enable', {})).status).toBe(200)
    expect(outcomeOf(await use(free, away))).toEqual([403, 'ACCESS.IP_NOT_ALLOWED'])
    expect([(await use(free)).status, (await use(bound, '192.0.2.8')).status]).toEqual([200, 200])
    expect((await post('/security/ip-whitelist/disable', {})).status).toBe(200)
    expect((await use(free, away)).status).toBe(200)
  })

  test('apiKeys.create 400: an expiry in the past, an unknown permission, one that keys cannot have', async () => {
    const body = { apiKeyName: 'Wrong', permissionCodes: ['wallet:read'] }
    const wrong = [
      { expiresAt: '2020-01-01T00:00:00Z' },
      { permissionCodes: ['wallet:own'] },
      { permissionCodes: ['role:manage'] },
      { permissionCodes: [] },
      { ipAllowlist: ['192.0.2.0/33'] },
    ]
    for (const each of wrong) {
      const response = await post('/api-keys', { ...body, ...each })
      expect(outcomeOf(response), JSON.stringify(each)).toEqual([400, 'VALIDATION.INVALID_PARAMETER'])
    }
  })
})

describe('a leaked API key', needsStore(), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: ({ limits }) => {
        limits.scale = 1
        limits.groups = { ...limits.groups, general: { account: { limit: 20, windowMs: 600_000 } } }
      },
    })
  })
  afterAll(() => portico?.stop())

  test('apiKeys.disable 200: the owner can disable a key however much it is used', async () => {
    const at = await newcomer(portico)
    const workspace = data(await at.by.get('/workspaces/current', at.token)).bizId
    const post = (path: string, body: object) => at.by.post(path, body, at.token, { 'x-workspace-id': workspace })
    const { secret, bizId } = data(await post('/api-keys', { apiKeyName: 'Lost', permissionCodes: ['wallet:read'] }))
    const use = () =>
      portico.call('GET', '/api/v1/consumer/wallets', { headers: { authorization: `Bearer ${secret}` } })
    const used: number[] = []
    for (let turn = 0; turn < 25; turn++) used.push((await use()).status)
    expect([used[0], used.at(-1)]).toEqual([200, 429])
    expect(data(await post('/api-keys/disable', { apiKeyBizId: bizId })).apiKeyStatus.code).toBe('DISABLED')
  })
})
