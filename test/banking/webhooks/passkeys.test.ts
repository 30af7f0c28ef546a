import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import * as contract from '../../../src/banking/webhooks/contract.ts'
import type { AccountId, Permission } from '../../../src/kernel/index.ts'
import { callerOf, createWorld, refusalOf, type World } from '../world.ts'
import { createTestWebhooks, type TestWebhooks } from './fixture.ts'

/* Webhooks of the deployment, and permissions that need a session which was started with a passkey (`mfa.required`). */

let world: World
let webhooks: TestWebhooks
let workspace: string
let id: AccountId
let serial = 0

beforeAll(async () => {
  world = await createWorld()
})
afterAll(() => world.close())
beforeEach(async () => {
  await world.database.updateTable('webhooks').set({ webhookStatus: 'DELETED' }).execute()
  await world.database.deleteFrom('jobs').execute()
  webhooks = createTestWebhooks(world)
  webhooks.ofPasskey = ['transfer:read']
  workspace = await world.workspaceOf(await world.account(`owner${++serial}@example.test`))
  id = await world.account(`operator${serial}@example.test`, 'SYSTEM')
})

const managing: Permission[] = ['webhook:read', 'webhook:manage']
const all: Permission[] = [...managing, 'transfer:read']
const grant = (operatorPermissions: Permission[]) =>
  world.database.updateTable('accounts').set({ operatorPermissions }).where('bizId', '=', id).execute()
const callerWith = (permissions: Permission[], withheld: Permission[] = []) => ({
  ...callerOf(id, 'SYSTEM'),
  permissions: new Set(permissions),
  ...(withheld.length > 0 && { withheld: new Set(withheld) }),
  steppedUpAt: world.clock.now(),
})
const create = (as = callerWith(managing), eventTypes = ['*']) =>
  world.call(webhooks.handlers, contract.createPlatformWebhook, {
    as,
    workspace,
    body: { url: 'https://receiver.test/a', eventTypes },
  })
const sentTypes = async () => {
  webhooks.sent.length = 0
  await webhooks.record(workspace)
  await webhooks.runJobs()
  return webhooks.sent.map(({ type }) => type)
}

test.each([[['*']], [['transfer.completed']]])(
  'webhooks.createPlatform 403: %j needs what the session lacks',
  async (eventTypes) => {
    await grant(all)
    const lacking = callerWith(managing, ['transfer:read'])
    expect(await refusalOf(create(lacking, eventTypes))).toBe('ACCESS.PASSKEY_REQUIRED')
    webhooks.byPasskey = true
    expect(await create(callerWith(all), eventTypes)).toMatchObject({ eventTypes })
  },
)

test('a session that lacks the permission takes over no webhook that has the events', async () => {
  await grant(all)
  webhooks.byPasskey = true
  const { bizId: webhookBizId } = await create(callerWith(all))
  webhooks.byPasskey = false
  const as = callerWith(managing, ['transfer:read'])
  const url = 'https://phisher.test/a'
  const attempts = [
    world.call(webhooks.handlers, contract.updatePlatformWebhook, { as, workspace, body: { webhookBizId, url } }),
    world.call(webhooks.handlers, contract.rotatePlatformSecret, { as, workspace, body: { webhookBizId } }),
  ]
  for (const attempt of attempts) expect(await refusalOf(attempt)).toBe('ACCESS.PASSKEY_REQUIRED')
  expect(await sentTypes()).toEqual(['transfer.completed'])
})

test('deliver: a webhook from before the permission gets its events only from a session with a passkey', async () => {
  await grant(managing)
  const { bizId: webhookBizId } = await create()
  await grant(all)
  expect(await sentTypes()).toEqual([])
  const as = callerWith(all)
  const rotate = () =>
    world.call(webhooks.handlers, contract.rotatePlatformSecret, { as, workspace, body: { webhookBizId } })
  webhooks.byPasskey = true
  // The URL is still that of the other session.
  await rotate()
  expect(await sentTypes()).toEqual([])
  const body = { webhookBizId, url: 'https://receiver.test/b' }
  await world.call(webhooks.handlers, contract.updatePlatformWebhook, { as, workspace, body })
  expect(await sentTypes()).toEqual(['transfer.completed'])
  webhooks.byPasskey = false
  await rotate()
  expect(await sentTypes()).toEqual([])
})

test('deliver: a lost permission ends the events', async () => {
  await grant(all)
  webhooks.byPasskey = true
  await create(callerWith(all))
  expect(await sentTypes()).toEqual(['transfer.completed'])
  await grant(managing)
  expect(await sentTypes()).toEqual([])
})
