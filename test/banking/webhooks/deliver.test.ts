import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import * as contract from '../../../src/banking/webhooks/contract.ts'
import { type AccountId, days, hours, minutes } from '../../../src/kernel/index.ts'
import { createWorld, refusalOf, type World } from '../world.ts'
import { createTestWebhooks, facts, type TestWebhooks } from './fixture.ts'

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
  await world.database.deleteFrom('jobs').execute()
  await world.database.deleteFrom('webhook_deliveries').execute()
  await world.database.deleteFrom('events').execute()
  webhooks = createTestWebhooks(world)
  owner = await world.account(`deliver${++serial}@example.test`)
  workspace = await world.workspaceOf(owner)
})

function create(url = 'https://receiver.test/a', eventTypes = ['transfer.completed'], as = owner) {
  return world.call(webhooks.handlers, contract.createWebhook, { as, workspace, body: { url, eventTypes } })
}
function run(operation: typeof contract.enableWebhook | typeof contract.disableWebhook, webhookBizId: string) {
  return world.call(webhooks.handlers, operation, { as: owner, workspace, body: { webhookBizId } })
}
async function read(id: string) {
  return world.call(webhooks.handlers, contract.readWebhook, { as: owner, workspace, params: { webhook_id: id } })
}
async function deliveries(id: string) {
  const found = await world.call(webhooks.handlers, contract.listDeliveries, {
    as: owner,
    workspace,
    params: { webhook_id: id },
  })
  return found.items
}
async function statuses(id: string) {
  return (await deliveries(id)).map(({ deliveryStatus, attempts }) => [deliveryStatus.code, attempts])
}

test('deliver: ten attempts in three days with growing pauses, all with the id of the event', async () => {
  webhooks.respond = () => ({ status: 500, body: 'broken' })
  const { bizId } = await create()
  const event = await webhooks.record(workspace)
  await webhooks.runJobs()
  const pauses: number[] = []
  for (;;) {
    const [delivery] = await deliveries(bizId)
    if (!delivery?.nextAttemptAt) break
    const pause = Date.parse(delivery.nextAttemptAt) - world.clock.now()
    pauses.push(pause)
    world.clock.advance(pause - 1)
    await webhooks.sweep()
    expect(await deliveries(bizId)).toMatchObject([{ attempts: pauses.length }])
    world.clock.advance(1)
    await webhooks.sweep()
  }
  const least = [5_000, minutes(5), minutes(30), hours(2), hours(5), hours(10), hours(14), hours(20), hours(24)]
  expect(pauses.map((pause, index) => pause >= (least[index] ?? 0) && pause <= (least[index] ?? 0) * 1.1)).toEqual(
    least.map(() => true),
  )
  expect(webhooks.sent.map(({ id }) => id)).toEqual(Array.from({ length: 10 }, () => event))
  expect(await deliveries(bizId)).toMatchObject([
    { deliveryStatus: { code: 'FAILED' }, attempts: 10, responseStatus: 500, responseBody: 'broken' },
  ])
  expect(webhooks.outcomes).toEqual([...Array.from({ length: 9 }, () => 'retried'), 'failed'])
  expect(Object.keys(webhooks.failed[0] ?? {}).toSorted()).toEqual(
    ['attempt', 'deliveryId', 'durationMs', 'eventType', 'failure', 'status', 'webhookId'].toSorted(),
  )
})

test('deliver: a receiver that is up again gets what it missed', async () => {
  webhooks.respond = () => ({ status: null, failure: 'CONNECTION' })
  const { bizId } = await create()
  const events = [await webhooks.record(workspace), await webhooks.record(workspace)]
  await webhooks.runJobs()
  world.clock.advance(hours(1))
  webhooks.respond = () => ({})
  webhooks.sent.length = 0
  await webhooks.sweep()
  expect(webhooks.sent.map(({ id }) => id).toSorted()).toEqual(events.toSorted())
  expect(await statuses(bizId)).toEqual([
    ['DELIVERED', 2],
    ['DELIVERED', 2],
  ])
  expect(await read(bizId)).toMatchObject({ failingSince: null })
})

test.each([[{ status: 301 }], [{ status: 404 }], [{ status: 199 }], [{ status: null, failure: 'TIMEOUT' }]] as const)(
  'deliver: %j is a failure',
  async (response) => {
    webhooks.respond = () => response
    const { bizId } = await create()
    await webhooks.record(workspace)
    await webhooks.runJobs()
    expect(await statuses(bizId)).toEqual([['PENDING', 1]])
  },
)

test('deliver: waits as long as Retry-After asks, up to a day', async () => {
  const { bizId } = await create()
  for (const [retryAfter, waitMs] of [
    ['3600', hours(1)],
    ['99999999', hours(24)],
    ['Sun, 01 Mar 2099 09:00:00 GMT', hours(24)],
  ] as const) {
    webhooks.respond = () => ({ status: 429, retryAfter })
    await webhooks.record(workspace)
    await webhooks.runJobs()
    const [delivery] = await deliveries(bizId)
    expect(Date.parse(delivery?.nextAttemptAt ?? '') - world.clock.now()).toBe(waitMs)
    await world.database.deleteFrom('webhook_deliveries').execute()
  }
})

test('deliver 410: disables the webhook, withholds the rest, and informs the owners', async () => {
  webhooks.respond = () => ({ status: 410 })
  const { bizId } = await create()
  await webhooks.record(workspace)
  await webhooks.record(workspace)
  await webhooks.runJobs()
  expect(webhooks.sent).toHaveLength(1)
  expect((await read(bizId)).webhookStatus.code).toBe('FAILED')
  expect((await statuses(bizId)).toSorted()).toEqual([
    ['FAILED', 1],
    ['WITHHELD', 0],
  ])
  expect(await noticesOf('WEBHOOK_FAILED')).toEqual(['https://receiver.test'])
  await webhooks.record(workspace)
  expect(await deliveries(bizId)).toHaveLength(2)
})

test('deliver: five days of failures disable the webhook; one success starts them again', async () => {
  webhooks.respond = () => ({ status: 500 })
  const { bizId } = await create()
  const fail = async () => {
    await webhooks.record(workspace)
    await webhooks.runJobs()
  }
  await fail()
  world.clock.advance(days(5) - 1)
  await fail()
  expect((await read(bizId)).webhookStatus.code).toBe('ACTIVE')
  webhooks.respond = () => ({})
  await fail()
  webhooks.respond = () => ({ status: 500 })
  world.clock.advance(days(4))
  await fail()
  world.clock.advance(days(5) - 1)
  await fail()
  expect((await read(bizId)).webhookStatus.code).toBe('ACTIVE')
  world.clock.advance(1)
  await fail()
  expect((await read(bizId)).webhookStatus.code).toBe('FAILED')
  expect(await noticesOf('WEBHOOK_FAILED')).toEqual(['https://receiver.test'])
  expect((await run(contract.enableWebhook, bizId)).failingSince).toBeNull()
})

test('deliver: a slow webhook occupies one worker, and next time one for slow webhooks', async () => {
  const release = Promise.withResolvers<object>()
  webhooks.respond = ({ url }) => (url.endsWith('/slow') ? release.promise : {})
  const slow = await create('https://receiver.test/slow')
  await webhooks.record(workspace)
  await webhooks.record(workspace)
  const first = webhooks.runJobs(1)
  await expect.poll(() => webhooks.sent).toHaveLength(1)
  const fast = await create('https://receiver.test/fast')
  await webhooks.record(workspace)
  await webhooks.runJobs()
  expect(webhooks.sent.map(({ url }) => url)).toEqual(['https://receiver.test/slow', 'https://receiver.test/fast'])
  expect(await statuses(fast.bizId)).toEqual([['DELIVERED', 1]])
  release.resolve({ durationMs: 15_000 })
  await first
  await webhooks.runJobs()
  expect(await statuses(slow.bizId)).toEqual([
    ['DELIVERED', 1],
    ['DELIVERED', 1],
    ['DELIVERED', 1],
  ])
  await webhooks.record(workspace)
  expect(await waitingJobs()).toEqual(['webhooks.deliver', 'webhooks.deliverSlowly'])
})

test('deliver: a receiver that hangs after a fast start frees its worker after one attempt', async () => {
  await create()
  webhooks.respond = () => (webhooks.sent.length === 1 ? {} : { status: null, failure: 'TIMEOUT', durationMs: 15_000 })
  for (let count = 0; count < 4; count++) await webhooks.record(workspace)
  await webhooks.runJobs(1)
  expect([webhooks.sent.length, await waitingJobs()]).toEqual([2, ['webhooks.deliverSlowly']])
  await webhooks.runJobs(1)
  expect([webhooks.sent.length, await waitingJobs()]).toEqual([3, ['webhooks.deliverSlowly']])
})

test('deliver: a receiver that is slow now and then stays with the slow ones for an hour', async () => {
  await create()
  const deliver = async (durationMs: number) => {
    webhooks.respond = () => ({ durationMs })
    await webhooks.record(workspace)
    const jobs = await waitingJobs()
    await webhooks.runJobs()
    return jobs
  }
  expect(await deliver(15_000)).toEqual(['webhooks.deliver'])
  expect(await deliver(5)).toEqual(['webhooks.deliverSlowly'])
  world.clock.advance(hours(1) - 1)
  expect(await deliver(5)).toEqual(['webhooks.deliverSlowly'])
  world.clock.advance(1)
  expect(await deliver(5)).toEqual(['webhooks.deliver'])
})

test('deliver: a job whose process was killed sends again with the same id', async () => {
  const { bizId } = await create()
  const event = await webhooks.record(workspace)
  webhooks.respond = () => {
    throw new Error('killed between send and acknowledgement')
  }
  await expect(webhooks.runJobs()).rejects.toThrow('killed')
  webhooks.respond = () => ({})
  await webhooks.runJobs()
  expect(webhooks.sent.map(({ id }) => id)).toEqual([event, event])
  expect(await statuses(bizId)).toEqual([['DELIVERED', 1]])
})

test('deliver: a process that stood still for longer than its lease leaves the rest to the next one', async () => {
  const { bizId } = await create()
  const events = [await webhooks.record(workspace), await webhooks.record(workspace)]
  const deliver = webhooks.jobs.find(({ name }) => name === 'webhooks.deliver')
  const job = { ...facts, jobId: randomUUID() }
  const payload = { webhookId: bizId, workspaceId: workspace }
  const responses = [Promise.withResolvers<object>(), Promise.withResolvers<object>()]
  webhooks.respond = () => responses[webhooks.sent.length - 1]?.promise ?? {}
  const stopped = deliver?.work(payload, job)
  await expect.poll(() => webhooks.sent).toHaveLength(1)
  world.clock.advance(minutes(1) + 1)
  const next = deliver?.work(payload, job)
  await expect.poll(() => webhooks.sent).toHaveLength(2)
  responses[0]?.resolve({})
  await stopped
  // The next one still waits for its response.
  expect(webhooks.sent.map(({ id }) => id)).toEqual([events[0], events[0]])
  responses[1]?.resolve({})
  await next
  expect(webhooks.sent.map(({ id }) => id)).toEqual([events[0], events[0], events[1]])
  expect(await statuses(bizId)).toEqual([
    ['DELIVERED', 1],
    ['DELIVERED', 1],
  ])
})

test('deliver: the sweep finds a delivery whose job was lost', async () => {
  const { bizId } = await create()
  await webhooks.record(workspace)
  await world.database.deleteFrom('jobs').execute()
  await webhooks.sweep()
  expect(webhooks.sent).toEqual([])
  world.clock.advance(minutes(1) + 1)
  await webhooks.sweep()
  expect(await statuses(bizId)).toEqual([['DELIVERED', 1]])
})

test('deliver: only what the person for whom the webhook acts may read at that moment', async () => {
  const member = await world.account(`member${serial}@example.test`)
  const role = await world.join(workspace, member, ['webhook:read', 'webhook:manage', 'transfer:read'])
  const all = await create('https://receiver.test/all', ['*'], member)
  expect(await refusalOf(create('https://receiver.test/b', ['withdrawal.completed'], member))).toBe(
    'ACCESS.PERMISSION_DENIED',
  )
  const deliver = async (type: string) => {
    webhooks.sent.length = 0
    await webhooks.record(workspace, type)
    await webhooks.runJobs()
    return webhooks.sent.map((message) => message.type)
  }
  expect(await deliver('transfer.completed')).toEqual(['transfer.completed'])
  expect(await deliver('withdrawal.completed')).toEqual([])
  const setPermissions = (permissionCodes: string[]) =>
    world.database
      .updateTable('roles')
      .set({ permissionCodes })
      .where('bizId', '=', role as never)
      .execute()
  await setPermissions(['webhook:read', 'webhook:manage'])
  expect(await deliver('transfer.completed')).toEqual([])
  await setPermissions(['webhook:read', 'transfer:read'])
  expect(await deliver('transfer.completed')).toEqual([])
  await setPermissions(['webhook:read', 'webhook:manage', 'transfer:read'])
  expect(await deliver('transfer.completed')).toEqual(['transfer.completed'])
  await world.database
    .updateTable('workspaces')
    .set({ workspaceStatus: 'FROZEN' })
    .where('bizId', '=', workspace as never)
    .execute()
  expect(await deliver('transfer.completed')).toEqual([])
  await world.database
    .updateTable('workspaces')
    .set({ workspaceStatus: 'ACTIVE' })
    .where('bizId', '=', workspace as never)
    .execute()
  await world.database.updateTable('accounts').set({ accountStatus: 'SUSPENDED' }).where('bizId', '=', member).execute()
  expect(await deliver('transfer.completed')).toEqual([])
  expect((await statuses(all.bizId)).map(([code]) => code).toSorted()).toEqual([
    'DELIVERED',
    'DELIVERED',
    ...Array.from({ length: 5 }, () => 'WITHHELD'),
  ])
})

test('deliver: only what the person who set the URL may read, also if the webhook acts for another one', async () => {
  const member = await world.account(`setter${serial}@example.test`)
  const role = await world.join(workspace, member, ['webhook:read', 'webhook:manage', 'transfer:read'])
  const { bizId: webhookBizId } = await create('https://receiver.test/all', ['*'], member)
  const rotated = { as: owner, workspace, body: { webhookBizId } }
  expect(await world.call(webhooks.handlers, contract.rotateWebhookSecret, rotated)).toMatchObject({ actsFor: owner })
  const deliver = async () => {
    webhooks.sent.length = 0
    for (const type of ['transfer.completed', 'withdrawal.completed']) await webhooks.record(workspace, type)
    await webhooks.runJobs()
    return webhooks.sent.map(({ type }) => type).toSorted()
  }
  expect(await deliver()).toEqual(['transfer.completed'])
  await world.database
    .updateTable('roles')
    .set({ permissionCodes: ['transfer:read'] })
    .where('bizId', '=', role as never)
    .execute()
  expect(await deliver()).toEqual([])
  await world.database.deleteFrom('memberships').where('accountBizId', '=', member).execute()
  await run(contract.enableWebhook, webhookBizId)
  expect(await deliver()).toEqual(['transfer.completed', 'withdrawal.completed'])
})

test('deliver: other workspaces, other types and ended webhooks get nothing', async () => {
  const { bizId } = await create()
  await webhooks.record(workspace, 'transfer.failed')
  await webhooks.record(await world.workspaceOf(await world.account(`other${serial}@example.test`)))
  await run(contract.disableWebhook, bizId)
  await webhooks.record(workspace)
  await webhooks.runJobs()
  expect([webhooks.sent, await deliveries(bizId)]).toEqual([[], []])
})

test('deliver: deletes old deliveries', async () => {
  const { bizId } = await create()
  await webhooks.record(workspace)
  await webhooks.runJobs()
  const tidy = webhooks.jobs.find(({ name }) => name === 'webhooks.deleteOld')
  world.clock.advance(days(30))
  await tidy?.work({}, facts)
  expect(await deliveries(bizId)).toHaveLength(1)
  world.clock.advance(1)
  await tidy?.work({}, facts)
  expect(await deliveries(bizId)).toEqual([])
})

async function waitingJobs() {
  const jobs = await world.database.selectFrom('jobs').select('kind').where('kind', 'like', 'webhooks.%').execute()
  return jobs.map(({ kind }) => kind).toSorted()
}
async function noticesOf(kind: string) {
  const jobs = await world.database
    .selectFrom('jobs')
    .select('payload')
    .where('kind', '=', 'members.ownerNotice')
    .execute()
  return jobs.flatMap(({ payload }) => {
    const notice = payload as { kind: string; about: string }
    return notice.kind === kind ? [notice.about] : []
  })
}
