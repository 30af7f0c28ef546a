import { afterAll, beforeAll, expect, test } from 'vitest'
import * as contract from '../../../src/banking/api-keys/contract.ts'
import type { ApiKeys } from '../../../src/banking/api-keys/index.ts'
import { type AccountId, addMs, days, type Permission, type Portal, toIso } from '../../../src/kernel/index.ts'
import { storedInPlainText } from '../../harness/rows.ts'
import { callerOf, createWorld, refusalOf, type World } from '../world.ts'
import { createTestApiKeys, withSecret } from './fixture.ts'

let world: World
let keys: ApiKeys
let [maker, checker]: AccountId[] = []
let serial = 0
const mails: string[][] = []

beforeAll(async () => {
  world = await createWorld()
  keys = createTestApiKeys(world, mails)
  maker = await operator('maker@example.test')
  checker = await operator('checker@example.test')
})
afterAll(async () => {
  await keys.settle()
  await world.close()
})

async function operator(email: string): Promise<AccountId> {
  const id = await world.account(email, 'SYSTEM')
  await grant(id, ['audit:read', 'operator-key:manage'])
  return id
}
async function grant(id: AccountId | undefined, operatorPermissions: Permission[]): Promise<void> {
  await world.database
    .updateTable('accounts')
    .set({ operatorPermissions })
    .where('bizId', '=', `${id}` as never)
    .execute()
}
const as = (id: AccountId | undefined) => callerOf(id ?? expect.fail('no operator'), 'SYSTEM')
const inDays = (count: number) => toIso(addMs(world.clock.now(), days(count)))

function create(body: object = {}, by = maker) {
  const request = { apiKeyName: `SIEM ${++serial}`, permissionCodes: ['audit:read'], expiresAt: inDays(30), ...body }
  return withSecret(world.call(keys.handlers, contract.createOperatorApiKey, { as: as(by), body: request }))
}
function change(command: 'enable' | 'disable' | 'delete', id: string, by = checker) {
  const operation = {
    enable: contract.enableOperatorApiKey,
    disable: contract.disableOperatorApiKey,
    delete: contract.deleteOperatorApiKey,
  }[command]
  return world.call(keys.handlers, operation, { as: as(by), params: { api_key_id: id }, body: { reason: 'test' } })
}
async function enabled(body: object = {}) {
  const created = await create(body)
  await change('enable', created.bizId)
  return created
}
async function use(token: string, portal: Portal | null = 'SYSTEM', clientIp = '203.0.113.7') {
  return (await keys.authenticate({ token, portal, clientIp })) ?? expect.fail('not an API key')
}

test('403: a session that lacks a permission, because it was not started with a passkey, creates and enables no key', async () => {
  const withheld: ReadonlySet<Permission> = new Set(['audit:read'])
  const request = { apiKeyName: 'By mail', permissionCodes: ['audit:read'], expiresAt: inDays(30) }
  const byMail = { ...as(maker), withheld }
  const created = world.call(keys.handlers, contract.createOperatorApiKey, { as: byMail, body: request })
  expect(await refusalOf(created)).toBe('ACCESS.PASSKEY_REQUIRED')
  const { bizId } = await create()
  const enabling = { as: { ...as(checker), withheld }, params: { api_key_id: bizId }, body: { reason: 'test' } }
  const enabledByMail = world.call(keys.handlers, contract.enableOperatorApiKey, enabling)
  expect(await refusalOf(enabledByMail)).toBe('ACCESS.PASSKEY_REQUIRED')
})

test('apiKeys.createForOperators 200: the key works once another operator has enabled it', async () => {
  const created = await create()
  expect(created).toMatchObject({ apiKeyStatus: { code: 'DISABLED' }, createdBy: maker })
  expect(created).not.toHaveProperty('workspaceBizId')
  expect(await storedInPlainText(world.database, created.secret.slice(-43))).toEqual([])
  expect(await refusalOf(use(created.secret))).toBe('ACCESS.TOKEN_INVALID')
  expect(await refusalOf(change('enable', created.bizId, maker))).toBe('ACCESS.PERMISSION_DENIED')
  expect(await change('enable', created.bizId)).toMatchObject({ apiKeyStatus: { code: 'ACTIVE' } })
  const { caller, workspace } = await use(created.secret)
  expect(caller).toMatchObject({ accountId: maker, apiKeyId: created.bizId, portal: 'SYSTEM', sessionId: null })
  expect([[...caller.permissions], workspace]).toEqual([['audit:read'], null])
  const audited = await world.database
    .selectFrom('audit_log')
    .select(['action', 'actorBizId'])
    .where('targetBizId', '=', created.bizId)
    .orderBy('at')
    .execute()
  expect(audited).toEqual([
    { action: 'apiKeys.createForOperators', actorBizId: maker },
    { action: 'apiKeys.enableOfOperators', actorBizId: checker },
  ])
  const { items } = await world.call(keys.handlers, contract.listOperatorApiKeys, { as: as(checker) })
  expect(items.map(({ bizId }) => bizId)).toContain(created.bizId)
  expect(JSON.stringify(items)).not.toContain(created.secret)
})

test('apiKeys.createForOperators 400: other permissions, no expiry, an expiry after a year', async () => {
  const refused = [
    { permissionCodes: ['account:suspend'] },
    { permissionCodes: [] },
    { expiresAt: undefined },
    { expiresAt: inDays(366) },
    { expiresAt: inDays(-1) },
  ]
  for (const body of refused) await expect(create(body), JSON.stringify(body)).rejects.toThrow()
})

test('apiKeys.createForOperators 403 ACCESS.PERMISSION_DENIED: nobody creates or enables what they lack', async () => {
  const [weak, key] = [await operator('weak@example.test'), await create()]
  await grant(weak, ['operator-key:manage'])
  expect(await refusalOf(create({}, weak))).toBe('ACCESS.PERMISSION_DENIED')
  expect(await refusalOf(change('enable', key.bizId, weak))).toBe('ACCESS.PERMISSION_DENIED')
  await grant(weak, ['audit:read'])
  expect(await refusalOf(create({}, weak))).toBe('ACCESS.PERMISSION_DENIED')
})

test('API key of operators: loses its permissions with its creator, its status and its time', async () => {
  const { secret, bizId } = await enabled({ ipAllowlist: ['203.0.113.0/24'] })
  expect(await refusalOf(use(secret, 'SYSTEM', '198.51.100.1'))).toBe('ACCESS.IP_NOT_ALLOWED')
  await grant(maker, ['operator-key:manage'])
  expect([...(await use(secret)).caller.permissions]).toEqual([])
  await grant(maker, ['audit:read', 'operator-key:manage'])
  const setStatus = (accountStatus: 'ACTIVE' | 'SUSPENDED') =>
    world.database
      .updateTable('accounts')
      .set({ accountStatus })
      .where('bizId', '=', `${maker}` as never)
      .execute()
  await setStatus('SUSPENDED')
  expect(await refusalOf(use(secret))).toBe('ACCESS.TOKEN_INVALID')
  await setStatus('ACTIVE')
  await change('disable', bizId, maker)
  expect(await refusalOf(use(secret))).toBe('ACCESS.TOKEN_INVALID')
  await change('enable', bizId)
  world.clock.advance(days(31))
  expect(await refusalOf(use(secret))).toBe('ACCESS.TOKEN_INVALID')
  await change('delete', bizId)
  expect(await refusalOf(change('enable', bizId))).toBe('STATE.CONFLICT')
})

test('API key: one of operators never passes on the CONSUMER portal, and one of a workspace never on SYSTEM', async () => {
  const { secret } = await enabled()
  expect(await refusalOf(use(secret, 'CONSUMER'))).toBe('ACCESS.TOKEN_INVALID')
  const owner = await world.account('owner@example.test')
  const workspace = await world.workspaceOf(owner)
  const body = { apiKeyName: 'Till', permissionCodes: ['wallet:read'] }
  const ofWorkspace = await withSecret(world.call(keys.handlers, contract.createApiKey, { as: owner, workspace, body }))
  expect(await refusalOf(use(ofWorkspace.secret, 'SYSTEM'))).toBe('ACCESS.TOKEN_INVALID')
  // The kind is part of the digest and of the look-up.
  expect(await refusalOf(use(secret.replace('pok_', 'ptk_'), 'CONSUMER'))).toBe('ACCESS.TOKEN_INVALID')
  expect(await refusalOf(use(ofWorkspace.secret.replace('ptk_', 'pok_')))).toBe('ACCESS.TOKEN_INVALID')
})

test('API key of operators: mails tell those who manage operators of each change, and before it expires', async () => {
  const workMails = async (): Promise<string[]> => {
    const jobs = await world.database
      .selectFrom('jobs')
      .selectAll()
      .where('kind', '=', 'apiKeys.mailOperatorKey')
      .execute()
    const work = keys.mailJobs.find(({ name }) => name === 'apiKeys.mailOperatorKey')?.work
    mails.length = 0
    for (const { payload } of jobs) await work?.(payload, {} as never)
    await world.database.deleteFrom('jobs').where('kind', '=', 'apiKeys.mailOperatorKey').execute()
    return mails.map(([to, template, values = '']) => `${to} ${template} ${JSON.parse(values).change}`)
  }
  await workMails()
  await enabled({ expiresAt: inDays(8) })
  const changes = await workMails()
  for (const to of ['maker@example.test', 'checker@example.test'])
    for (const event of ['created an API key of operators. It works', 'enabled'])
      expect(changes).toContainEqual(expect.stringMatching(`^${to} apiKeys.operator-key An operator has ${event}`))
  world.clock.advance(days(2))
  const expiring = (await keys.countExpiring()).get(7)
  expect(expiring).toBe(1)
  const warn = keys.jobs.find(({ name }) => name === 'apiKeys.warnOfExpiry')?.work
  const facts = { signal: new AbortController().signal } as never
  await warn?.({}, facts)
  await warn?.({}, facts)
  const warned = await workMails()
  expect(warned.filter((mail) => mail.startsWith('maker@'))).toEqual([
    'maker@example.test apiKeys.operator-key An API key of operators expires soon',
  ])
})
