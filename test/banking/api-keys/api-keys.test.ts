import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import * as contract from '../../../src/banking/api-keys/contract.ts'
import type { ApiKeys } from '../../../src/banking/api-keys/index.ts'
import { recordUse } from '../../../src/banking/api-keys/store.ts'
import { apiKeyPermissions } from '../../../src/contract/index.ts'
import {
  type AccountId,
  addMs,
  bizId as asId,
  days,
  hours,
  minutes,
  type Permission,
  toIso,
} from '../../../src/kernel/index.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { storedInPlainText } from '../../harness/rows.ts'
import { accessSettings, callerOf, createWorld, refusalOf, type World } from '../world.ts'
import { createTestApiKeys, settings, withSecret } from './fixture.ts'

let world: World
let keys: ApiKeys
let owner: AccountId
let workspace: string
let serial = 0
const mails: string[][] = []

beforeAll(async () => {
  world = await createWorld()
  keys = createTestApiKeys(world, mails)
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
  expiresAt?: string
}
function create(request: KeyRequest = {}, as = owner) {
  return withSecret(
    world.call(keys.handlers, contract.createApiKey, {
      as,
      workspace,
      body: { apiKeyName: 'Till', permissionCodes: ['wallet:read', 'transfer:create'], ...request },
    }),
  )
}
function command(operation: 'enable' | 'disable' | 'delete', apiKeyBizId: string, as = owner, within = workspace) {
  return world.call(
    keys.handlers,
    { enable: contract.enableApiKey, disable: contract.disableApiKey, delete: contract.deleteApiKey }[operation],
    { as, workspace: within, body: { apiKeyBizId } },
  )
}
function read(id: string, within = workspace, as = owner) {
  return world.call(keys.handlers, contract.readApiKey, { as, workspace: within, params: { api_key_id: id } })
}
async function use(token: string, clientIp = '203.0.113.7') {
  const authenticated = keys.authenticate({ token, portal: 'CONSUMER', clientIp })
  const { caller, workspace } = (await authenticated) ?? {}
  if (!caller || !workspace) throw new Error('not an API key of a workspace')
  return { caller, workspace }
}

test.each<Permission[]>([['role:manage'], ['wallet:read', '*:*'], ['wallet:read', 'loan:read']])(
  'apiKeys.create 400 VALIDATION.INVALID_PARAMETER: rejects %s, which an API key cannot hold',
  async (...permissionCodes) => {
    const field = `permissionCodes.${permissionCodes.length - 1}`
    const refusal = { code: 'VALIDATION.INVALID_PARAMETER', detail: { field } }
    await expect(create({ permissionCodes })).rejects.toMatchObject(refusal)
  },
)

describe('API key', () => {
  test('apiKeys.create 200: returns the secret once, stores a digest and grants the requested permissions', async () => {
    const created = await create()
    expect(created).toMatchObject({
      apiKeyName: 'Till',
      apiKeyStatus: { code: 'ACTIVE', value: 10091201 },
      permissionCodes: ['wallet:read', 'transfer:create'],
      ipAllowlist: [],
      expiresAt: null,
      lastUsedAt: null,
      createdBy: owner,
    })
    expect(created.secret.startsWith(`${created.keyPrefix}_`)).toBe(true)
    expect(created.secret.endsWith(created.keyLast4)).toBe(true)
    const { secret, replacesIpWhitelist, ...visible } = created
    expect(replacesIpWhitelist).toBe(false)
    expect(await read(created.bizId)).toEqual(visible)
    expect(await storedInPlainText(world.database, secret.slice(-43))).toEqual([])

    const { caller, workspace: access } = await use(secret)
    expect(caller).toMatchObject({ accountId: owner, apiKeyId: created.bizId, sessionId: null, portal: 'CONSUMER' })
    expect(access.id).toBe(workspace)
    expect(access.isOwner).toBe(false)
    expect([...access.permissions].sort()).toEqual(['transfer:create', 'wallet:read'])
  })

  test('authenticate: ignores a token without the format of a key', () => {
    for (const token of ['', 'eyJhbGciOi.x.y', 'ptk_', `ptk_0123456789ab_${'x'.repeat(42)}`, 'PTK_0123456789ab_x']) {
      expect(keys.authenticate({ token, portal: 'CONSUMER', clientIp: '' })).toBeUndefined()
    }
  })

  test('authenticate 401 ACCESS.TOKEN_INVALID: wrong secret, unknown key, another portal', async () => {
    const { secret, keyPrefix } = await create()
    const forged = `${keyPrefix}_${'A'.repeat(43)}`
    const unknown = `ptk_000000000000_${secret.slice(-43)}`
    expect(await refusalOf(use(forged))).toBe('ACCESS.TOKEN_INVALID')
    expect(await refusalOf(use(unknown))).toBe('ACCESS.TOKEN_INVALID')
    const elsewhere = keys.authenticate({
      token: secret,
      portal: 'SYSTEM',

      clientIp: '',
    })
    expect(await refusalOf(Promise.resolve(elsewhere))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('apiKeys.enable, disable and delete 409 STATE.CONFLICT: only in the required status', async () => {
    const { bizId, secret } = await create()
    expect(await refusalOf(command('enable', bizId))).toBe('STATE.CONFLICT')
    world.clock.advance(1_000)
    const updatedAt = toIso(world.clock.now())
    expect(await command('disable', bizId)).toMatchObject({ apiKeyStatus: { code: 'DISABLED' }, updatedAt })
    expect(await refusalOf(use(secret))).toBe('ACCESS.TOKEN_INVALID')
    expect(await refusalOf(command('disable', bizId))).toBe('STATE.CONFLICT')
    expect((await command('enable', bizId)).apiKeyStatus.code).toBe('ACTIVE')
    expect(await refusalOf(use(secret))).toBe('none')
    expect((await command('delete', bizId)).apiKeyStatus.code).toBe('DELETED')
    expect(await refusalOf(use(secret))).toBe('ACCESS.TOKEN_INVALID')
    for (const name of ['enable', 'disable', 'delete'] as const) {
      expect(await refusalOf(command(name, bizId))).toBe('STATE.CONFLICT')
    }
    expect(await refusalOf(create())).toBe('none')
  })

  test('authenticate 401 ACCESS.TOKEN_INVALID: from the instant of expiry', async () => {
    const expiresAt = new Date(world.clock.now() + hours(1)).toISOString()
    expect(await refusalOf(create({ expiresAt: new Date(world.clock.now()).toISOString() }))).toBe(
      'VALIDATION.INVALID_PARAMETER',
    )
    const { bizId, secret } = await create({ expiresAt })
    world.clock.advance(hours(1) - 1)
    expect(await refusalOf(use(secret))).toBe('none')
    world.clock.advance(1)
    expect(await refusalOf(use(secret))).toBe('ACCESS.TOKEN_INVALID')
    expect((await read(bizId)).apiKeyStatus.code).toBe('EXPIRED')
    expect(await refusalOf(command('disable', bizId))).toBe('STATE.CONFLICT')
    expect(await refusalOf(command('delete', bizId))).toBe('none')
  })

  test('apiKeys.list 200: a maximum lifetime also ends the life of existing keys', async () => {
    const { bizId, secret, expiresAt } = await create()
    expect(expiresAt).toBeNull()
    const end = toIso(addMs(world.clock.now(), hours(1)))
    world.clock.advance(hours(1) - 1)
    settings.maxLifeMs = hours(1)
    const listed = async (apiKeyStatus: string) => {
      const query = { apiKeyStatus }
      const { items } = await world.call(keys.handlers, contract.listApiKeys, { as: owner, workspace, query })
      return items.map((key) => key.bizId)
    }
    expect([await listed('ACTIVE'), await listed('EXPIRED')]).toEqual([[bizId], []])
    expect(await refusalOf(use(secret))).toBe('none')
    world.clock.advance(1)
    expect([await listed('ACTIVE'), await listed('EXPIRED')]).toEqual([[], [bizId]])
    expect(await read(bizId)).toMatchObject({ apiKeyStatus: { code: 'EXPIRED' }, expiresAt: end })
    expect(await refusalOf(use(secret))).toBe('ACCESS.TOKEN_INVALID')
    settings.maxLifeMs = null
  })

  test('apiKeys: the default maximum lifetime is one year', () => {
    expect(accessSettings.apiKeys.maxLifeMs).toBe(days(365))
  })

  test('apiKeys.create 400: rejects an expiry beyond the maximum lifetime, which is the default', async () => {
    settings.maxLifeMs = hours(1)
    const latest = new Date(world.clock.now() + hours(1)).toISOString()
    expect((await create()).expiresAt).toBe(latest)
    expect((await create({ apiKeyName: 'Requested', expiresAt: latest })).expiresAt).toBe(latest)
    const later = new Date(world.clock.now() + hours(1) + 1).toISOString()
    expect(await refusalOf(create({ apiKeyName: 'Later', expiresAt: later }))).toBe('VALIDATION.INVALID_PARAMETER')
    settings.maxLifeMs = null
  })

  test('apiKeys.create 409 STATE.CONFLICT: at most the maximum number of keys, under parallel calls', async () => {
    settings.maxPerWorkspace = 2
    const results = await Promise.all(['A', 'B', 'C'].map((apiKeyName) => refusalOf(create({ apiKeyName }))))
    expect(results.sort()).toEqual(['STATE.CONFLICT', 'none', 'none'])
    const { items } = await world.call(keys.handlers, contract.listApiKeys, { as: owner, workspace })
    await command('delete', items[0]?.bizId ?? '')
    expect(await refusalOf(create({ apiKeyName: 'Replacement' }))).toBe('none')
    settings.maxPerWorkspace = accessSettings.apiKeys.maxPerWorkspace
  })

  test('authenticate 403 ACCESS.IP_NOT_ALLOWED: rejects addresses outside the allowlist', async () => {
    const { secret } = await create({ ipAllowlist: ['203.0.113.0/28', '2001:db8::/32', '::ffff:198.51.100.9'] })
    for (const ip of ['203.0.113.7', '::ffff:203.0.113.7', '2001:db8:1::1', '198.51.100.9']) {
      expect(await refusalOf(use(secret, ip)), ip).toBe('none')
    }
    for (const ip of ['203.0.113.16', '198.51.100.8', '2001:db9::1', '', 'x']) {
      expect(await refusalOf(use(secret, ip)), ip).toBe('ACCESS.IP_NOT_ALLOWED')
    }
  })

  test('authenticate: grants only permissions that the creator still holds', async () => {
    const clerk = await world.account(`clerk${serial}@example.test`)
    const rights: Permission[] = ['api-key:manage', 'api-key:read', 'wallet:read', 'transfer:create']
    const role = await world.join(workspace, clerk, rights)
    expect(await refusalOf(create({ permissionCodes: ['file:read'] }, clerk))).toBe('ACCESS.PERMISSION_DENIED')
    const { secret } = await create({}, clerk)
    await world.database
      .updateTable('roles')
      .set({ permissionCodes: ['wallet:read', 'file:read'] })
      .where('bizId', '=', role as never)
      .execute()
    expect([...(await use(secret)).workspace.permissions]).toEqual(['wallet:read'])
    await world.database
      .updateTable('accounts')
      .set({ accountStatus: 'SUSPENDED' })
      .where('bizId', '=', clerk)
      .execute()
    expect(await refusalOf(use(secret))).toBe('ACCESS.TOKEN_INVALID')
    await world.database.updateTable('accounts').set({ accountStatus: 'ACTIVE' }).where('bizId', '=', clerk).execute()
    await world.database.deleteFrom('memberships').where('accountBizId', '=', clerk).execute()
    expect(await refusalOf(use(secret))).toBe('ACCESS.TOKEN_INVALID')
  })

  test('apiKeys.enable 403 ACCESS.PERMISSION_DENIED: the caller must hold the permissions of the key', async () => {
    const { bizId } = await create()
    const clerk = await world.account(`enabler${serial}@example.test`)
    await world.join(workspace, clerk, ['api-key:manage', 'wallet:read'])
    expect(await refusalOf(command('disable', bizId, clerk))).toBe('none')
    expect(await refusalOf(command('enable', bizId, clerk))).toBe('ACCESS.PERMISSION_DENIED')
    expect(await refusalOf(command('enable', bizId))).toBe('none')
  })

  test('apiKeys.enable 403 ACCESS.PERMISSION_DENIED: the caller lost the permissions during the request', async () => {
    const { bizId: apiKeyBizId } = await create()
    await command('disable', apiKeyBizId)
    const clerk = await world.account(`late${serial}@example.test`)
    const role = await world.join(workspace, clerk, ['api-key:manage', 'wallet:read', 'transfer:create'])
    const access = await world.members.enter(callerOf(clerk), workspace)
    await world.database
      .updateTable('roles')
      .set({ permissionCodes: ['api-key:manage'] })
      .where('bizId', '=', role as never)
      .execute()
    const input = { as: clerk, workspace, access, body: { apiKeyBizId } }
    const enabling = world.call(keys.handlers, contract.enableApiKey, input)
    expect(await refusalOf(enabling)).toBe('ACCESS.PERMISSION_DENIED')
    expect((await read(apiKeyBizId)).apiKeyStatus.code).toBe('DISABLED')
  })

  test('apiKeys.read 200: reports the last use, updated at most once a minute', async () => {
    const { bizId, secret } = await create()
    const lastUse = async () => {
      await keys.settle()
      const { lastUsedAt, lastUsedIp } = await read(bizId)
      return [lastUsedAt, lastUsedIp]
    }
    const first = new Date(world.clock.now()).toISOString()
    await use(secret)
    expect(await lastUse()).toEqual([first, '203.0.113.7'])
    world.clock.advance(minutes(1) - 1)
    await use(secret, '203.0.113.8')
    expect(await lastUse()).toEqual([first, '203.0.113.7'])
    world.clock.advance(1)
    const second = new Date(world.clock.now()).toISOString()
    await use(secret, '203.0.113.9')
    expect(await lastUse()).toEqual([second, '203.0.113.9'])
    // Another replica writes an earlier use after a later one.
    const scope = { workspaceBizId: asId<'workspace'>(workspace), bizId: asId<'apiKey'>(bizId) }
    await recordUse(world.database, scope, '203.0.113.10', addMs(world.clock.now(), -1))
    expect(await lastUse()).toEqual([second, '203.0.113.9'])
  })
})

describe('API keys of a workspace', () => {
  test('apiKeys.list 200: by page and status, deleted keys only on request', async () => {
    const expiresAt = new Date(world.clock.now() + minutes(1)).toISOString()
    const expiring = await create({ apiKeyName: 'Expiring', expiresAt })
    const list = async (query: Record<string, string>) => {
      const page = await world.call(keys.handlers, contract.listApiKeys, { as: owner, workspace, query })
      return [page.items.map((key) => key.apiKeyName).sort(), page.pagination.totalRecords]
    }
    world.clock.advance(minutes(1) - 1)
    expect(await list({ apiKeyStatus: 'ACTIVE' })).toEqual([['Expiring'], 1])
    world.clock.advance(1)
    expect(await list({ apiKeyStatus: 'ACTIVE' })).toEqual([[], 0])
    expect(await list({ apiKeyStatus: 'EXPIRED' })).toEqual([['Expiring'], 1])
    const active = await create({ apiKeyName: 'Active' })
    const disabled = await create({ apiKeyName: 'Disabled' })
    const deleted = await create({ apiKeyName: 'Deleted' })
    await command('disable', disabled.bizId)
    await command('delete', deleted.bizId)
    const expired = await create({ apiKeyName: 'Expired', expiresAt: new Date(world.clock.now() + 1).toISOString() })
    await command('delete', expired.bizId)
    world.clock.advance(1)
    expect(await list({})).toEqual([['Active', 'Disabled', 'Expiring'], 3])
    expect(await list({ apiKeyStatus: 'ACTIVE' })).toEqual([[active.apiKeyName], 1])
    expect(await list({ apiKeyStatus: 'DISABLED' })).toEqual([['Disabled'], 1])
    expect(await list({ apiKeyStatus: 'EXPIRED' })).toEqual([[expiring.apiKeyName], 1])
    expect(await list({ apiKeyStatus: 'DELETED' })).toEqual([['Deleted', 'Expired'], 2])
    expect(await list({ pageSize: '1', currentPage: '2', sortBy: 'createdAt', sortOrder: 'asc' })).toMatchObject([
      { length: 1 },
      3,
    ])
    const endTime = new Date(world.clock.now() - 2).toISOString()
    expect(await list({ endTime })).toEqual([['Expiring'], 1])
  })

  test('apiKeys.list 200: finds keys of the workspace by prefix, with an index', async () => {
    const [till, other] = [await create(), await create({ apiKeyName: 'Other' })]
    const find = async (keyPrefix: string, as = owner, within = workspace) => {
      const query = { keyPrefix }
      const page = await world.call(keys.handlers, contract.listApiKeys, { as, workspace: within, query })
      return page.items.map(({ bizId }) => bizId)
    }
    expect(await find(till.keyPrefix)).toEqual([till.bizId])
    expect(await find(till.keyPrefix.slice(0, -3))).toEqual([till.bizId])
    expect((await find('ptk_')).sort()).toEqual([till.bizId, other.bizId].sort())
    const stranger = await world.account(`reader${serial}@example.test`)
    expect(await find(till.keyPrefix, stranger, await world.workspaceOf(stranger))).toEqual([])
    const { rows } = await sql`EXPLAIN SELECT 1 FROM api_keys WHERE workspace_biz_id = ${workspace}
      AND key_prefix COLLATE "C" >= 'ptk_3' AND key_prefix COLLATE "C" < 'ptk_3~'`.execute(world.database)
    expect(JSON.stringify(rows)).toContain('api_keys_prefix')
  })

  test('apiKeys.create 409 STATE.CONFLICT: unique names, under parallel calls', async () => {
    const results = await Promise.all([create(), create({ apiKeyName: 'TILL' }), create()].map(refusalOf))
    expect(results.sort()).toEqual(['STATE.CONFLICT', 'STATE.CONFLICT', 'none'])
  })

  test('apiKeys 404 RESOURCE.NOT_FOUND: keys of another workspace', async () => {
    const { bizId } = await create()
    const stranger = await world.account(`stranger${serial}@example.test`)
    const elsewhere = await world.workspaceOf(stranger)
    for (const id of [bizId, systemIds.next(), 'x', "'; --"]) {
      expect(await refusalOf(read(id, elsewhere, stranger))).toBe('RESOURCE.NOT_FOUND')
    }
    for (const name of ['enable', 'disable', 'delete'] as const) {
      expect(await refusalOf(command(name, bizId, stranger, elsewhere))).toBe('RESOURCE.NOT_FOUND')
    }
    expect((await read(bizId)).apiKeyStatus.code).toBe('ACTIVE')
  })

  test('apiKeys.availablePermissions 200: those that the caller holds', async () => {
    const available = (as: AccountId) => world.call(keys.handlers, contract.listApiKeyPermissions, { as, workspace })
    expect(await available(owner)).toEqual([...apiKeyPermissions])
    const clerk = await world.account(`reader${serial}@example.test`)
    await world.join(workspace, clerk, ['api-key:read', 'role:manage', 'file:read'])
    expect(await available(clerk)).toEqual(['api-key:read', 'file:read'])
  })
})

describe('operators', () => {
  const end = async (operation: 'disable' | 'delete', api_key_id: string, as: AccountId) =>
    world.call(keys.handlers, { disable: contract.disableAnyApiKey, delete: contract.deleteAnyApiKey }[operation], {
      as: callerOf(as, 'SYSTEM'),
      params: { api_key_id },
      body: { reason: 'Found in a public repository' },
    })

  test('apiKeys.disableAny and deleteAny 200: the key stops working, and its creator gets a mail', async () => {
    const operator = await world.account(`operator${++serial}@example.test`, 'SYSTEM')
    const { bizId: id, secret } = await create()
    expect(await use(secret)).toBeDefined()
    expect((await end('disable', id, operator)).apiKeyStatus.code).toBe('DISABLED')
    expect(await refusalOf(use(secret))).toBe('ACCESS.TOKEN_INVALID')
    expect(await refusalOf(end('disable', id, operator))).toBe('STATE.CONFLICT')
    expect((await end('delete', id, operator)).apiKeyStatus.code).toBe('DELETED')
    expect(await refusalOf(command('enable', id))).toBe('STATE.CONFLICT')
    const jobs = world.database.selectFrom('jobs').select('payload').where('kind', '=', 'apiKeys.mailEnding')
    const payloads = (await jobs.execute()).map(({ payload }) => payload)
    expect(payloads).toMatchObject([{ ending: 'disable' }, { ending: 'delete' }])
    const facts = { jobId: id, attempt: 1, signal: new AbortController().signal, drop: () => undefined }
    await keys.mailJobs.find(({ name }) => name === 'apiKeys.mailEnding')?.work(payloads[0], facts)
    expect(mails).toEqual([
      ['owner@example.test', 'account-decision', expect.stringContaining('Found in a public repository')],
    ])
  })

  test('apiKeys.deleteAny 403 and 404: a key of the operator’s own workspace, and an unknown key', async () => {
    const { bizId: id } = await create()
    const inside = await world.account(`owner${serial}@example.test`, 'SYSTEM')
    expect(await refusalOf(end('delete', id, inside))).toBe('ACCESS.PERMISSION_DENIED')
    const operator = await world.account(`operator${++serial}@example.test`, 'SYSTEM')
    expect(await refusalOf(end('delete', systemIds.next(), operator))).toBe('RESOURCE.NOT_FOUND')
  })
})
