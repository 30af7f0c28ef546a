import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import * as contract from '../../../src/banking/webhooks/contract.ts'
import { maxRows } from '../../../src/banking/webhooks/delivery-store.ts'
import webhooksDomain from '../../../src/banking/webhooks/index.ts'
import { suspendWebhooksOf } from '../../../src/banking/webhooks/store.ts'
import { inTransaction } from '../../../src/database/index.ts'
import { type AccountId, days, hours, type Operation, type Permission } from '../../../src/kernel/index.ts'
import { type CallInput, callerOf, createWorld, type ReplyOf, refusalOf, type World } from '../world.ts'
import { createTestWebhooks, type TestWebhooks } from './fixture.ts'

let world: World
let webhooks: TestWebhooks
let owner: AccountId
let workspace: string
let serial = 0

beforeAll(async () => {
  world = await createWorld()
})
afterAll(() => world.close())
beforeEach(async () => {
  await world.database.updateTable('webhooks').set({ webhookStatus: 'DELETED' }).execute()
  await world.database.deleteFrom('jobs').execute()
  webhooks = createTestWebhooks(world)
  owner = await world.account(`owner${++serial}@example.test`)
  workspace = await world.workspaceOf(owner)
})

const url = 'https://receiver.test/hooks?token=hidden'
const managing: Permission[] = ['webhook:read', 'webhook:manage', 'transfer:read']

function call<O extends Operation>(operation: O, input: Partial<CallInput> = {}): Promise<ReplyOf<O>> {
  return world.call(webhooks.handlers, operation, { as: owner, workspace, ...input })
}
function create(body: object = {}, as: CallInput['as'] = owner) {
  return call(contract.createWebhook, { as, body: { url, eventTypes: ['transfer.completed'], ...body } })
}
function read(id: string) {
  return call(contract.readWebhook, { params: { webhook_id: id } })
}
async function statusOf(id: string) {
  return (await read(id)).webhookStatus.code
}
async function memberOf(permissions = managing) {
  const member = await world.account(`member${++serial}@example.test`)
  await world.join(workspace, member, permissions)
  return member
}
async function operator(
  permissions: Permission[] = ['webhook:read', 'webhook:manage', 'webhook:end', 'transfer:read'],
) {
  const id = await world.account(`operator${++serial}@example.test`, 'SYSTEM')
  await world.database
    .updateTable('accounts')
    .set({ operatorPermissions: permissions })
    .where('bizId', '=', id)
    .execute()
  return { ...callerOf(id, 'SYSTEM'), permissions: new Set(permissions), steppedUpAt: world.clock.now() }
}

test('webhooks.create 200: shows the secret once and stores it sealed', async () => {
  const created = await create({ description: 'Books' })
  expect(created).toMatchObject({ url, description: 'Books', eventTypes: ['transfer.completed'], actsFor: owner })
  expect(Buffer.from(created.secret.slice('whsec_'.length), 'base64')).toHaveLength(32)
  expect(await read(created.bizId)).not.toHaveProperty('secret')
  const [row] = await world.database
    .selectFrom('webhooks')
    .selectAll()
    .where('bizId', '=', created.bizId as never)
    .execute()
  expect(JSON.stringify(row)).not.toContain(created.secret.slice(6))
  const jobs = await world.database.selectFrom('jobs').select('payload').execute()
  expect(jobs.map(({ payload }) => payload)).toMatchObject([
    { kind: 'WEBHOOK_CREATED', about: 'https://receiver.test' },
  ])
})

test('webhooks.create 400: a URL that is not an allowed receiver, and unknown types', async () => {
  for (const wrong of [
    'http://receiver.test/',
    'https://127.0.0.1/',
    'https://portal.test/',
    'https://[::ffff:a00:1]/',
  ])
    expect([wrong, await refusalOf(create({ url: wrong }))]).toEqual([wrong, 'VALIDATION.INVALID_PARAMETER'])
  for (const eventTypes of [['transfer.vanished'], ['*', 'transfer.completed'], [], ['webhook.test']])
    expect(await refusalOf(create({ eventTypes }))).toBe('VALIDATION.INVALID_PARAMETER')
})

test('webhooks.create 403: types that the caller cannot read', async () => {
  const member = await memberOf()
  expect(await refusalOf(create({ eventTypes: ['withdrawal.completed'] }, member))).toBe('ACCESS.PERMISSION_DENIED')
  const types = await call(contract.listWebhookTypes, { as: member })
  expect([types.includes('transfer.completed'), types.includes('withdrawal.completed')]).toEqual([true, false])
})

test('webhooks.create 409: the maximum number of webhooks, without deleted ones', async () => {
  const { bizId: webhookBizId } = await create()
  await create()
  await create()
  expect(await refusalOf(create())).toBe('STATE.CONFLICT')
  await call(contract.deleteWebhook, { body: { webhookBizId } })
  await create()
})

test('webhooks.update 403 ACCESS.STEP_UP_REQUIRED: a changed URL or changed types move the data', async () => {
  const { bizId: webhookBizId } = await create()
  const member = await memberOf()
  const update = (changes: object, as: CallInput['as']) =>
    call(contract.updateWebhook, { as, body: { webhookBizId, ...changes } })
  for (const changes of [{ url: 'https://thief.test/' }, { eventTypes: ['transfer.failed'] }])
    expect(await refusalOf(update(changes, callerOf(member)))).toBe('ACCESS.STEP_UP_REQUIRED')
  expect(await update({ description: 'New' }, callerOf(member))).toMatchObject({ description: 'New', actsFor: owner })
  expect(await update({ url: 'https://other.test/' }, member)).toMatchObject({
    url: 'https://other.test/',
    actsFor: member,
  })
  expect(await refusalOf(update({ url: 'https://10.0.0.1/' }, member))).toBe('VALIDATION.INVALID_PARAMETER')
})

test('webhooks.update 403: who cannot read all types cannot take over the webhook', async () => {
  const { bizId: webhookBizId } = await create({ eventTypes: ['withdrawal.completed'] })
  const member = await memberOf()
  const attempts = [
    call(contract.updateWebhook, { as: member, body: { webhookBizId, url: 'https://thief.test/' } }),
    call(contract.rotateWebhookSecret, { as: member, body: { webhookBizId } }),
  ]
  for (const attempt of attempts) expect(await refusalOf(attempt)).toBe('ACCESS.PERMISSION_DENIED')
  await call(contract.disableWebhook, { body: { webhookBizId } })
  expect(await refusalOf(call(contract.enableWebhook, { as: member, body: { webhookBizId } }))).toBe(
    'ACCESS.PERMISSION_DENIED',
  )
})

test('webhooks.rotateSecret 200: both secrets sign for 24 hours', async () => {
  const { bizId: webhookBizId, secret } = await create()
  const rotated = await call(contract.rotateWebhookSecret, { body: { webhookBizId } })
  expect([rotated.secret === secret, Date.parse(rotated.previousSecretUntil ?? '') - world.clock.now()]).toEqual([
    false,
    hours(24),
  ])
  const secretsOfTest = async () => {
    webhooks.sent.length = 0
    await call(contract.testWebhook, { body: { webhookBizId } })
    await webhooks.runJobs()
    return webhooks.sent.map(({ type, secrets }) => [type, secrets])
  }
  world.clock.advance(hours(24) - 1)
  await world.database.deleteFrom('jobs').where('kind', '=', 'members.ownerNotice').execute()
  expect(await secretsOfTest()).toEqual([['webhook.test', 2]])
  world.clock.advance(1)
  expect(await secretsOfTest()).toEqual([['webhook.test', 1]])
})

test('webhooks.disable and delete 403 ACCESS.STEP_UP_REQUIRED: the webhook of another member', async () => {
  const { bizId: webhookBizId } = await create()
  const member = callerOf(await memberOf())
  for (const operation of [contract.disableWebhook, contract.deleteWebhook])
    expect(await refusalOf(call(operation, { as: member, body: { webhookBizId } }))).toBe('ACCESS.STEP_UP_REQUIRED')
  await call(contract.disableWebhook, { as: callerOf(owner), body: { webhookBizId } })
  expect(await refusalOf(call(contract.testWebhook, { body: { webhookBizId } }))).toBe('STATE.CONFLICT')
  await call(contract.enableWebhook, { body: { webhookBizId } })
  await call(contract.deleteWebhook, { body: { webhookBizId } })
  expect(await refusalOf(read(webhookBizId))).toBe('RESOURCE.NOT_FOUND')
})

test('members.leave: suspends what acts for the former member or has their URL, and withholds what waits', async () => {
  const member = await memberOf()
  const theirs = await create({}, member)
  const taken = await create({ url: 'https://theirs.test/' }, member)
  await call(contract.rotateWebhookSecret, { body: { webhookBizId: taken.bizId } })
  const own = await create()
  await webhooks.record(workspace)
  await world.database.deleteFrom('memberships').where('accountBizId', '=', member).execute()
  expect(await Promise.all([theirs, taken, own].map(({ bizId }) => statusOf(bizId)))).toEqual([
    'SUSPENDED',
    'SUSPENDED',
    'ACTIVE',
  ])
  await webhooks.runJobs()
  expect(webhooks.sent).toHaveLength(1)
  expect(await call(contract.enableWebhook, { body: { webhookBizId: theirs.bizId } })).toMatchObject({ actsFor: owner })
})

test('recovery: suspends what acts for the account or has its URL', async () => {
  const member = await memberOf()
  const [theirs, moved, own] = [await create({}, member), await create(), await create()]
  await call(contract.updateWebhook, { as: member, body: { webhookBizId: moved.bizId, url: 'https://thief.test/' } })
  const recovery = { accountId: member, at: world.clock.now() }
  expect(await inTransaction(world.database, (tx) => suspendWebhooksOf(tx, recovery))).toBe(2)
  expect(await Promise.all([theirs, moved, own].map(({ bizId }) => statusOf(bizId)))).toEqual([
    'SUSPENDED',
    'SUSPENDED',
    'ACTIVE',
  ])
})

test('webhooks.resend 200: sends now, and starts again with all attempts', async () => {
  const { bizId: webhookBizId } = await create()
  webhooks.respond = () => ({ status: 500 })
  await webhooks.record(workspace)
  await webhooks.runJobs()
  const [delivery] = (await call(contract.listDeliveries, { params: { webhook_id: webhookBizId } })).items
  const resend = () => call(contract.resendDelivery, { body: { deliveryBizId: delivery?.bizId } })
  webhooks.respond = () => ({})
  for (let count = 0; count < 2; count++) {
    webhooks.sent.length = 0
    expect(await resend()).toMatchObject({ attempts: 0, deliveryStatus: { code: 'PENDING' } })
    await webhooks.runJobs()
    expect(webhooks.sent.map(({ id }) => id)).toEqual([delivery?.eventBizId])
  }
  const list = (deliveryStatus: string) =>
    call(contract.listDeliveries, { params: { webhook_id: webhookBizId }, query: { deliveryStatus } })
  expect([(await list('DELIVERED')).items.length, (await list('FAILED')).items.length]).toEqual([1, 0])
})

test('webhooks.replay 200: sends the events of its types since a time again, with their ids', async () => {
  const early = await webhooks.record(workspace)
  world.clock.advance(hours(1))
  const since = new Date(world.clock.now()).toISOString()
  const { bizId: webhookBizId } = await create()
  const later = [await webhooks.record(workspace), await webhooks.record(workspace)]
  await webhooks.record(workspace, 'transfer.failed')
  await webhooks.runJobs()
  webhooks.sent.length = 0
  const replay = (from: string) => call(contract.replayEvents, { body: { webhookBizId, since: from } })
  expect(await replay(since)).toEqual({ scheduled: 2, nextSince: null })
  await webhooks.runJobs()
  expect(webhooks.sent.map(({ id }) => id).toSorted()).toEqual(later.toSorted())
  webhooks.sent.length = 0
  expect(await replay(new Date(world.clock.now() - days(1)).toISOString())).toMatchObject({ scheduled: 3 })
  await webhooks.runJobs()
  expect(webhooks.sent.map(({ id }) => id)).toContain(early)
  expect(await refusalOf(replay(new Date(world.clock.now() + 1).toISOString()))).toBe('VALIDATION.INVALID_PARAMETER')
})

test('webhooks.replay 200: continues without a gap although events are not in the order of their times', async () => {
  const { bizId: webhookBizId } = await create()
  const since = world.clock.now()
  const event = await webhooks.record(workspace)
  const late = await webhooks.record(workspace)
  // The last event of the first reply happened after those that follow.
  const behind = 1_000_000
  await world.database
    .updateTable('events')
    .set({ at: new Date(since + hours(1)), position: behind + 2 * (maxRows - 2) + 1 })
    .where('bizId', '=', late as never)
    .execute()
  await sql`INSERT INTO events (position, biz_id, event_type, at, subject, workspace_biz_id, workspace_position, for_operators, data)
    SELECT ${behind}::int + 2 * n, gen_random_uuid(), event_type, at + n * interval '1 ms', subject, workspace_biz_id,
           ${behind}::int + 2 * n, true, data
      FROM events, generate_series(1, ${maxRows}::int) n WHERE biz_id = ${event}::uuid`.execute(world.database)
  world.clock.advance(hours(2))
  for (let from: string | null = new Date(since).toISOString(); from; )
    from = (await call(contract.replayEvents, { body: { webhookBizId, since: from } })).nextSince
  const scheduled = await world.database
    .selectFrom('webhook_deliveries')
    .select('bizId')
    .where('webhookBizId', '=', webhookBizId as never)
    .execute()
  expect(scheduled).toHaveLength(maxRows + 2)
})

test('webhooks 404: webhooks and deliveries of another workspace and of the deployment', async () => {
  const { bizId: webhookBizId } = await create()
  await webhooks.record(workspace)
  const [delivery] = (await call(contract.listDeliveries, { params: { webhook_id: webhookBizId } })).items
  const admin = await operator()
  const body = { url, eventTypes: ['transfer.completed'] }
  const platform = await call(contract.createPlatformWebhook, { as: admin, body })
  const stranger = await world.account(`stranger${serial}@example.test`)
  const theirs = { as: stranger, workspace: await world.workspaceOf(stranger) }
  for (const input of [{ ...theirs, id: webhookBizId }, { id: platform.bizId }]) {
    const { id, ...where } = input
    const attempts = [
      ...[contract.enableWebhook, contract.disableWebhook, contract.deleteWebhook, contract.testWebhook].map(
        (operation) => call(operation, { ...where, body: { webhookBizId: id } }),
      ),
      call(contract.rotateWebhookSecret, { ...where, body: { webhookBizId: id } }),
      call(contract.updateWebhook, { ...where, body: { webhookBizId: id, url } }),
      call(contract.replayEvents, { ...where, body: { webhookBizId: id, since: '2026-01-01T00:00:00Z' } }),
      call(contract.readWebhook, { ...where, params: { webhook_id: id } }),
      call(contract.listDeliveries, { ...where, params: { webhook_id: id } }),
    ]
    for (const attempt of attempts) expect(await refusalOf(attempt)).toBe('RESOURCE.NOT_FOUND')
  }
  const resend = { ...theirs, body: { deliveryBizId: delivery?.bizId } }
  expect(await refusalOf(call(contract.resendDelivery, resend))).toBe('RESOURCE.NOT_FOUND')
  const own = { as: admin, body: { webhookBizId } }
  expect(await refusalOf(call(contract.rotatePlatformSecret, own))).toBe('RESOURCE.NOT_FOUND')
  expect((await call(contract.listWebhooks, theirs)).items).toEqual([])
})

test('webhooks.disableAny 200: members cannot enable the webhook until an operator allows it', async () => {
  const { bizId: webhookBizId } = await create()
  const admin = await operator()
  const decide = (operation: typeof contract.disableAnyWebhook | typeof contract.enableAnyWebhook) =>
    call(operation, { as: admin, params: { webhook_id: webhookBizId }, body: { reason: 'Abuse' } })
  expect(await refusalOf(decide(contract.enableAnyWebhook))).toBe('STATE.CONFLICT')
  expect((await decide(contract.disableAnyWebhook)).webhookStatus.code).toBe('DISABLED')
  expect(await refusalOf(decide(contract.disableAnyWebhook))).toBe('STATE.CONFLICT')
  const enable = () => call(contract.enableWebhook, { body: { webhookBizId } })
  expect(await refusalOf(enable())).toBe('ACCESS.PERMISSION_DENIED')
  expect((await decide(contract.enableAnyWebhook)).webhookStatus.code).toBe('DISABLED')
  expect((await enable()).webhookStatus.code).toBe('ACTIVE')
  const all = await call(contract.listAllWebhooks, { as: admin, query: { workspaceId: workspace } })
  expect(all.items.map((each) => each.bizId)).toEqual([webhookBizId])
})

test('webhooks.listAll 200: operators see neither the path of a URL of members nor the replies of their receivers', async () => {
  const { bizId: webhookBizId } = await create()
  const admin = await operator(['webhook:read'])
  webhooks.respond = () => ({ body: 'an echoed event' })
  await webhooks.record(workspace)
  await webhooks.runJobs()
  const all = await call(contract.listAllWebhooks, { as: admin, query: { workspaceId: workspace } })
  expect(all.items).toMatchObject([{ bizId: webhookBizId, url: 'https://receiver.test' }])
  const of = { params: { webhook_id: webhookBizId } }
  const seen = await call(contract.listAllDeliveries, { as: admin, ...of })
  expect(seen.items).toMatchObject([{ responseStatus: 200, responseBody: null }])
  expect((await call(contract.listDeliveries, of)).items).toMatchObject([{ responseBody: 'an echoed event' }])
})

test('webhooks.createPlatform 200: sends the events of all workspaces that its operator can read', async () => {
  const admin = await operator()
  const colleague = await operator()
  const body = { url, eventTypes: ['*'] }
  const { bizId: webhookBizId } = await call(contract.createPlatformWebhook, { as: admin, body })
  const forbidden = { as: admin, body: { url, eventTypes: ['withdrawal.completed'] } }
  expect(await refusalOf(call(contract.createPlatformWebhook, forbidden))).toBe('ACCESS.PERMISSION_DENIED')
  await webhooks.record(workspace)
  await webhooks.record(workspace, 'withdrawal.completed')
  await webhooks.runJobs()
  expect(webhooks.sent.map(({ type }) => type)).toEqual(['transfer.completed'])
  expect(webhooks.mails.join()).toContain('A new webhook has been created. (https://receiver.test)')
  expect(webhooks.mails.length).toBeGreaterThanOrEqual(2)
  await inTransaction(world.database, (tx) =>
    suspendWebhooksOf(tx, { accountId: admin.accountId, at: world.clock.now() }),
  )
  await webhooks.record(workspace)
  await webhooks.runJobs()
  expect(webhooks.sent).toHaveLength(1)
  const enabled = await call(contract.enablePlatformWebhook, { as: colleague, body: { webhookBizId } })
  expect([enabled.webhookStatus.code, enabled.actsFor]).toEqual(['ACTIVE', colleague.accountId])
  await call(contract.deletePlatformWebhook, { as: colleague, body: { webhookBizId } })
})

test('webhooks.allowLoopback: production refuses to start with it', () => {
  const check = (allowLoopback: boolean, profile: 'production' | 'development') =>
    webhooksDomain.checkSettings?.({ maxPerWorkspace: 1, allowLoopback }, { profile, currencies: [] })
  expect([check(true, 'development'), check(false, 'production')]).toEqual([[], []])
  expect(check(true, 'production')).toEqual([expect.stringMatching(/^webhooks\.allowLoopback: must be false/)])
})
