import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import * as contract from '../../../src/banking/api-keys/contract.ts'
import type { ApiKeys } from '../../../src/banking/api-keys/index.ts'
import type { AccountId, Permission } from '../../../src/kernel/index.ts'
import { callerOf, createWorld, refusalOf, type World } from '../world.ts'
import { createTestApiKeys, settings, withSecret } from './fixture.ts'

let world: World
let keys: ApiKeys
let owner: AccountId
let workspace: string
let serial = 0

beforeAll(async () => {
  world = await createWorld()
  keys = createTestApiKeys(world, [])
})
afterAll(() => world.close())
beforeEach(async () => {
  owner = await world.account(`owner${++serial}@example.test`)
  workspace = await world.workspaceOf(owner)
})

interface KeyRequest {
  apiKeyName?: string
  permissionCodes?: Permission[]
  ipAllowlist?: string[]
}
function create(request: KeyRequest = {}, as = owner) {
  return withSecret(
    world.call(keys.handlers, contract.createApiKey, {
      as,
      workspace,
      body: { apiKeyName: 'Till', permissionCodes: ['wallet:read'], ...request },
    }),
  )
}
async function use(token: string, clientIp = '203.0.113.7') {
  const authenticated = keys.authenticate({ token, portal: 'CONSUMER', clientIp })
  if (!authenticated) throw new Error('not an API key')
  return authenticated
}

test('apiKeys.create 200: states that the addresses of a key replace its creator’s whitelist', async () => {
  const whitelist = world.database.updateTable('accounts').set({ ipWhitelistEnabled: true })
  await whitelist.where('bizId', '=', owner).execute()
  const own = await create({ ipAllowlist: ['203.0.113.0/28'] })
  const other = await create({ apiKeyName: 'Without addresses' })
  expect([own.replacesIpWhitelist, other.replacesIpWhitelist]).toEqual([true, false])
  expect([await refusalOf(use(own.secret)), await refusalOf(use(other.secret))]).toEqual([
    'none',
    'ACCESS.IP_NOT_ALLOWED',
  ])
  const entries = world.database.selectFrom('audit_log').select('detail').where('targetBizId', '=', own.bizId)
  expect((await entries.executeTakeFirstOrThrow()).detail).toMatchObject({ replacesIpWhitelist: true })
})

test('authenticate 403 ACCESS.IP_NOT_ALLOWED: with `narrow`, an existing key needs an address of both lists', async () => {
  const { secret } = await create({ ipAllowlist: ['203.0.113.0/28'] })
  const whitelist = world.database.updateTable('accounts').set({ ipWhitelistEnabled: true })
  settings.addressList = 'narrow'
  try {
    expect(await refusalOf(use(secret))).toBe('none')
    expect(await refusalOf(use(secret, '203.0.113.16'))).toBe('ACCESS.IP_NOT_ALLOWED')
    await whitelist.where('bizId', '=', owner).execute()
    expect(await refusalOf(use(secret))).toBe('ACCESS.IP_NOT_ALLOWED')
    const created = await create({ apiKeyName: 'Narrow', ipAllowlist: ['203.0.113.0/28'] })
    expect(created.replacesIpWhitelist).toBe(false)
  } finally {
    settings.addressList = 'replace'
  }
})

test.each(['disable', 'delete'] as const)(
  'apiKeys.%s 403 ACCESS.STEP_UP_REQUIRED: a bare session cannot end a key of another member',
  async (name) => {
    const { bizId: apiKeyBizId } = await create()
    const clerk = await world.account(`ender${serial}@example.test`)
    await world.join(workspace, clerk, ['api-key:manage', 'api-key:read', 'wallet:read'])
    const operation = { disable: contract.disableApiKey, delete: contract.deleteApiKey }[name]
    const end = (id: AccountId, apiKey: string) =>
      world.call(keys.handlers, operation, { as: callerOf(id), workspace, body: { apiKeyBizId: apiKey } })
    expect(await refusalOf(end(clerk, apiKeyBizId))).toBe('ACCESS.STEP_UP_REQUIRED')
    const own = await create({ apiKeyName: 'Own', permissionCodes: ['wallet:read'] }, clerk)
    expect(await refusalOf(end(clerk, own.bizId))).toBe('none')
    const steppedUp = { as: clerk, workspace, body: { apiKeyBizId } }
    expect(await refusalOf(world.call(keys.handlers, operation, steppedUp))).toBe('none')
  },
)
