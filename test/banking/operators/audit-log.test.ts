import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import * as contract from '../../../src/banking/operators/contract.ts'
import { createAuditHandlers } from '../../../src/banking/operators/handlers.ts'
import { updateProfile } from '../../../src/banking/profile/contract.ts'
import { createProfile } from '../../../src/banking/profile/index.ts'
import { AuditVerifier, insertAuditEntry, recordRefusal, sealAuditLog } from '../../../src/platform/audit/index.ts'
import { callerOf, createWorld, transactionOf, type World, words } from '../world.ts'

let world: World
beforeAll(async () => {
  world = await createWorld()
})
afterAll(() => world.close())

test('operators.verifyAuditLog 200: reports the first tampered entry and the intact ones before it', async () => {
  const { database, clock } = world
  const operator = callerOf(await world.account('operator@example.test', 'SYSTEM'), 'SYSTEM')
  const actor = { portal: 'SYSTEM', actorId: operator.accountId, workspaceId: null, targetId: null } as const
  const event = {
    action: 'test.act',
    outcome: 'SUCCESS',
    requestId: 'one',
    clientIp: '203.0.113.7',
    detail: {},
  } as const
  for (let count = 1; count <= 5; count++) await insertAuditEntry(database, { at: clock.now(), ...actor, ...event })
  await sealAuditLog(database)
  const handlers = createAuditHandlers({ database, words, verifier: new AuditVerifier({ database, clock }) })
  const verify = (scope: 'ALL' | 'NEW' = 'ALL', head?: string) =>
    world.call(handlers, contract.verifyAuditLog, { as: operator, query: { scope, ...(head && { head }) } })
  expect(await verify()).toMatchObject({ intact: true, entriesChecked: 5, firstSequence: 1, firstBrokenSequence: null })
  expect(await verify('NEW')).toMatchObject({ intact: true, entriesChecked: 5, firstSequence: 6 })
  const noted = await verify()
  expect(noted).toMatchObject({ head: expect.stringMatching(/^5:[0-9a-f]{64}$/), expectedHead: null })
  const other = '0'.repeat(64)
  expect(await verify('NEW', `${noted.head}`)).toMatchObject({ intact: true, expectedHead: 'FOUND' })
  expect(await verify('ALL', `0:${other}`)).toMatchObject({ intact: true, expectedHead: 'FOUND' })
  expect(await verify('ALL', `6:${other}`)).toMatchObject({ intact: false, expectedHead: 'MISSING' })
  expect(await verify('NEW', `2:${other}`)).toMatchObject({ intact: false, expectedHead: 'DIFFERENT' })
  await sql`ALTER TABLE audit_log DISABLE TRIGGER USER`.execute(database)
  await sql`UPDATE audit_log SET client_ip = '198.51.100.1' WHERE sequence IN (3, 4)`.execute(database)
  expect(await verify()).toMatchObject({ intact: false, entriesChecked: 2, firstBrokenSequence: 3, head: null })
  expect(await verify('ALL', `${noted.head}`)).toMatchObject({ intact: false, head: null, expectedHead: null })
  expect(await verify('NEW')).toMatchObject({ intact: false, firstBrokenSequence: 3 })
})

test('audit: an entry names the API key of the request, if there is one', async () => {
  const { database, clock } = world
  const session = callerOf(await world.account('member@example.test'))
  const { handlers } = createProfile({
    database,
    transaction: transactionOf(database),
    words,
    isCountry: () => true,
    parsePhone: (text) => text,
  })
  const body = { accountName: 'Another' }
  await world.call(handlers, updateProfile, { as: session, body })
  await world.call(handlers, updateProfile, { as: { ...session, apiKeyId: 'a key' }, body })
  const { accountId, portal } = session
  const auditContext = {
    accountId,
    apiKeyId: 'a key',
    portal,
    operationId: 'profile.update',
    requestId: 'two',
    clientIp: '',
  }
  const target = { workspaceId: null, targetId: null, detail: { reason: 'test' } }
  await recordRefusal(database, { ...auditContext, at: clock.now() }, target)
  const entries = await database.selectFrom('audit_log').select('detail').where('actorBizId', '=', accountId).execute()
  expect(entries.map(({ detail }) => detail)).toHaveLength(3)
  expect(entries.map(({ detail }) => detail)).toEqual(
    expect.arrayContaining([{}, { apiKey: 'a key' }, { reason: 'test', apiKey: 'a key' }]),
  )
})
