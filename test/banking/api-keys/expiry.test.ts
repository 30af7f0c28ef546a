import { afterAll, beforeEach, expect, test } from 'vitest'
import * as contract from '../../../src/banking/api-keys/contract.ts'
import { type AccountId, addMs, bizId, days, toIso } from '../../../src/kernel/index.ts'
import { createWorld } from '../world.ts'
import { createTestApiKeys, settings } from './fixture.ts'

const world = await createWorld()
afterAll(() => world.close())

const mails: string[][] = []
const emailOf = async (id: AccountId) =>
  (await world.database.selectFrom('accounts').select('email').where('bizId', '=', id).executeTakeFirstOrThrow()).email
const keys = createTestApiKeys(world, mails, undefined, emailOf)
const as = await world.account('owner@example.test')
const workspace = await world.workspaceOf(as)
const signal = new AbortController().signal

beforeEach(() => {
  mails.length = 0
})

const create = (apiKeyName: string, lifeMs: number | null) =>
  world.call(keys.handlers, contract.createApiKey, {
    as,
    workspace,
    body: {
      apiKeyName,
      permissionCodes: ['wallet:read'],
      ...(lifeMs !== null && { expiresAt: toIso(addMs(world.clock.now(), lifeMs)) }),
    },
  })

/** Runs the recurring job, as two replicas do at the same time, and sends the queued mails. */
async function warn(): Promise<string[]> {
  mails.length = 0
  const facts = { jobId: '', attempt: 1, signal, drop: () => undefined }
  await Promise.all(keys.jobs.flatMap((job) => [job.work({}, facts), job.work({}, facts)]))
  const queued = await world.database
    .deleteFrom('jobs')
    .where('kind', '=', 'apiKeys.mailExpiry')
    .returning('payload')
    .execute()
  const send = keys.mailJobs.find(({ name }) => name === 'apiKeys.mailExpiry')
  for (const { payload } of queued) await send?.work(payload, facts)
  return mails.map(([to, template, values]) => `${to} ${template} ${JSON.parse(values ?? '').key.split(' ')[0]}`).sort()
}

const mailOf = (name: string) => `owner@example.test apiKeys.key-expiry ${name}`

test('apiKeys.warnOfExpiry: one mail per key 30, 7 and 1 day before its end', async () => {
  await create('Long', days(40))
  await create('Endless', null)
  expect(await warn()).toEqual([])
  const warned: [number, string[]][] = []
  for (let day = 1; day <= 41; day++) {
    world.clock.advance(days(1))
    const sent = await warn()
    if (sent.length > 0) warned.push([day, sent])
    expect(await warn()).toEqual([])
  }
  expect(warned).toEqual([10, 33, 39].map((day) => [day, [mailOf('Long')]]))
})

test('apiKeys.warnOfExpiry: a key with a life of five days gets only the mail of the last day', async () => {
  await create('Short', days(5))
  await create('Shorter', days(1))
  const sent: string[][] = []
  for (let day = 0; day < 6; day++) {
    sent.push(await warn())
    world.clock.advance(days(1))
  }
  expect(sent).toEqual([[], [], [], [], [mailOf('Short')], []])
})

test('apiKeys.warnOfExpiry: after an outage of the job, a key gets one mail, not one per missed stage', async () => {
  await create('Missed', days(40))
  world.clock.advance(days(35))
  expect(await warn()).toEqual([mailOf('Missed')])
  world.clock.advance(days(4))
  expect(await warn()).toEqual([mailOf('Missed')])
  world.clock.advance(days(1))
})

test('apiKeys.warnOfExpiry: no mail for a deleted or disabled key, nor for one deleted before it is sent', async () => {
  const command = async (name: string, operation: typeof contract.deleteApiKey | typeof contract.disableApiKey) => {
    const { bizId } = await create(name, days(31))
    await world.call(keys.handlers, operation, { as, workspace, body: { apiKeyBizId: bizId } })
  }
  await command('Deleted', contract.deleteApiKey)
  await command('Disabled', contract.disableApiKey)
  world.clock.advance(days(2))
  expect(await warn()).toEqual([])
})

test('apiKeys.warnOfExpiry: the maximum life of existing keys counts', async () => {
  await create('Capped', null)
  settings.maxLifeMs = days(60)
  world.clock.advance(days(31))
  expect(await warn()).toContain(mailOf('Capped'))
  settings.maxLifeMs = null
})

test('apiKeys.warnOfExpiry: the owners get the mail if the creator can no longer manage keys', async () => {
  const member = await world.account('member@example.test')
  const role = await world.join(workspace, member, ['api-key:manage', 'wallet:read'])
  await world.call(keys.handlers, contract.createApiKey, {
    as: member,
    workspace,
    body: {
      apiKeyName: 'Members',
      permissionCodes: ['wallet:read'],
      expiresAt: toIso(addMs(world.clock.now(), days(31))),
    },
  })
  world.clock.advance(days(2))
  expect(await warn()).toEqual(['member@example.test apiKeys.key-expiry Members'])
  const roles = world.database.updateTable('roles').set({ permissionCodes: ['wallet:read'] })
  await roles.where('bizId', '=', bizId<'role'>(role)).execute()
  world.clock.advance(days(23))
  expect(await warn()).toEqual([mailOf('Members')])
})

test('apiKeys.list 200: expiresSoon for the last 30 days of a key that can be used', async () => {
  await create('Soon', days(30))
  await create('Later', days(31))
  await create('Never', null)
  const { items } = await world.call(keys.handlers, contract.listApiKeys, { as, workspace, query: { pageSize: '100' } })
  const soon = Object.fromEntries(items.map(({ apiKeyName, expiresSoon }) => [apiKeyName, expiresSoon]))
  expect(soon).toMatchObject({ Soon: true, Later: false, Never: false, Short: false })
  expect(await keys.countExpiring()).toEqual(
    new Map([
      [1, 0],
      // "Members" of the test before.
      [7, 1],
      [30, 2],
    ]),
  )
})

test('apiKeys.warnOfExpiry: after the maximum life was extended, the new end is announced', async () => {
  await create('Extended', null)
  settings.maxLifeMs = days(60)
  world.clock.advance(days(59.5))
  expect(await warn()).toContain(mailOf('Extended'))
  settings.maxLifeMs = days(120)
  const warned: number[] = []
  for (let day = 60; day <= 120; day++) {
    if ((await warn()).includes(mailOf('Extended'))) warned.push(day)
    world.clock.advance(days(1))
  }
  expect(warned).toEqual([91, 114, 120])
  settings.maxLifeMs = null
})

test('apiKeys.mailExpiry: an owner who has left the workspace gets no mail', async () => {
  await create('Left', days(31))
  world.clock.advance(days(2))
  const { bizId } = await world.database
    .selectFrom('api_keys')
    .select('bizId')
    .where('apiKeyName', '=', 'Left')
    .executeTakeFirstOrThrow()
  const former = await world.account('former@example.test')
  mails.length = 0
  const send = keys.mailJobs.find(({ name }) => name === 'apiKeys.mailExpiry')
  const facts = { jobId: '', attempt: 1, signal, drop: () => undefined }
  await send?.work({ recipientId: former, workspaceBizId: workspace, bizId }, facts)
  expect(mails).toEqual([])
  expect(await warn()).toContain(mailOf('Left'))
})
