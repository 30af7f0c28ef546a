import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import type { Answer } from '../../harness/http.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Receiver, startReceiver } from '../../harness/receiver.ts'
import { codeOf, conflict, invalid, notFound, startMoneyWorld } from '../money-world.ts'

const { mainUsd, savingsUsd } = developmentIds

type Post = (method: string, path: string, body: object) => Promise<Answer>

describe('webhooks', needsStore(), () => {
  let world: Awaited<ReturnType<typeof startMoneyWorld>>
  let receiver: Receiver
  beforeAll(async () => {
    world = await startMoneyWorld()
    receiver = await startReceiver()
  })
  afterAll(async () => {
    await receiver?.close()
    await world?.portico.stop()
  })
  beforeEach(() => {
    receiver.received.length = 0
    receiver.respond = (_request, response) => void response.end('thanks')
  })

  const create = async (changes: object = {}, call: Post = world.web) => {
    const body = { url: receiver.url, eventTypes: ['transfer.completed'], ...changes }
    const created = await world.data(call('POST', '/webhooks', body))
    receiver.secrets.push(created.secret)
    return created
  }
  const remove = (webhookBizId: string) => world.data(world.web('POST', '/webhooks/delete', { webhookBizId }))
  const transfer = async (): Promise<string> => {
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '0.01', currency: 'USD' }
    return (await world.data(world.web('POST', '/transfer/command/create', body))).bizId
  }
  const deliveries = async (id: string, query = '') =>
    (await world.data(world.web('GET', `/webhooks/${id}/deliveries?${query}`))).items
  const received = (type: string) => receiver.received.filter(({ event }) => event?.type === type)

  test('webhooks.create 200: a completed transfer arrives once, signed, with the view of the reader', async () => {
    const { bizId, secret, webhookStatus } = await create()
    expect([secret.startsWith('whsec_'), webhookStatus.code]).toEqual([true, 'ACTIVE'])
    const order = await transfer()
    await expect.poll(() => received('transfer.completed'), { timeout: 15_000 }).toHaveLength(1)
    const [{ event, id } = { event: undefined, id: '' }] = received('transfer.completed')
    const view = await world.data(world.web('GET', `/transfer/query/orders/${order}`))
    expect(event).toMatchObject({ id, subject: order, data: view })
    await expect
      .poll(async () => (await deliveries(bizId)).map((each: { deliveryStatus: object }) => each.deliveryStatus))
      .toMatchObject([{ code: 'DELIVERED' }])
    expect(await deliveries(bizId)).toMatchObject([
      { attempts: 1, responseStatus: 200, responseBody: 'thanks', failure: null },
    ])
    expect((await world.data(world.web('GET', `/webhooks/${bizId}`))).secret).toBeUndefined()
    await remove(bizId)
    expect(codeOf(await world.web('GET', `/webhooks/${bizId}`))).toEqual(notFound)
  })

  test('webhooks.update, rotateSecret, disable, enable, test, resend and replay 200', async () => {
    const { bizId: webhookBizId } = await create()
    const of = (command: string, more: object = {}) =>
      world.data(world.web('POST', `/webhooks/${command}`, { webhookBizId, ...more }))
    const description = 'Books'
    expect(await of('update', { url: `${receiver.url}/2`, description })).toMatchObject({ description })
    receiver.secrets.push((await of('rotate-secret')).secret)
    const sent = await of('test')
    await expect.poll(() => received('webhook.test'), { timeout: 15_000 }).toHaveLength(1)
    expect(received('webhook.test')[0]?.signature.split(' ')).toHaveLength(2)
    await expect.poll(async () => (await deliveries(webhookBizId, 'deliveryStatus=DELIVERED')).length).toBe(1)
    await world.data(world.web('POST', '/webhooks/resend', { deliveryBizId: sent.bizId }))
    await expect.poll(() => received('webhook.test'), { timeout: 15_000 }).toHaveLength(2)
    expect(received('webhook.test').map(({ id }) => id)).toEqual([sent.eventBizId, sent.eventBizId])
    const since = new Date().toISOString()
    expect((await of('disable')).webhookStatus.code).toBe('DISABLED')
    const order = await transfer()
    expect(codeOf(await world.web('POST', '/webhooks/test', { webhookBizId }))).toEqual(conflict)
    expect((await of('enable')).webhookStatus.code).toBe('ACTIVE')
    await expect.poll(async () => (await of('replay', { since })).scheduled, { timeout: 15_000 }).toBe(1)
    await expect.poll(() => received('transfer.completed')[0]?.event?.subject, { timeout: 15_000 }).toBe(order)
    const types = await world.data(world.web('GET', '/webhooks/available-types'))
    expect(types).toContain('transfer.completed')
    const { items } = await world.data(world.web('GET', '/webhooks'))
    expect(items.map(({ bizId }: { bizId: string }) => bizId)).toContain(webhookBizId)
    await remove(webhookBizId)
  })

  test('a receiver that fails gets the same delivery again, on one of two replicas', async () => {
    let failures = 1
    receiver.respond = (_request, response) => {
      response.statusCode = failures-- > 0 ? 503 : 204
      response.end()
    }
    const { bizId } = await create()
    await transfer()
    await expect.poll(async () => (await deliveries(bizId))[0]?.attempts, { timeout: 15_000 }).toBe(1)
    expect(await deliveries(bizId)).toMatchObject([{ deliveryStatus: { code: 'PENDING' }, responseStatus: 503 }])
    await expect.poll(async () => (await deliveries(bizId))[0]?.attempts, { timeout: 30_000 }).toBe(2)
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1)
    expect(receiver.received).toHaveLength(2)
    await remove(bizId)
  })

  test('a slow receiver delays no other one, and gets one request at a time', async () => {
    const slow = await startReceiver()
    let open = 0
    let most = 0
    slow.respond = (_request, response) => {
      most = Math.max(most, ++open)
      setTimeout(() => {
        open -= 1
        response.end()
      }, 1_000)
    }
    const hooks = [await create({ url: slow.url }), await create()]
    await Promise.all(Array.from({ length: 6 }, () => transfer()))
    await expect.poll(() => received('transfer.completed'), { timeout: 15_000 }).toHaveLength(6)
    const arrived = slow.received.length
    expect(arrived).toBeLessThan(6)
    await expect.poll(() => slow.received, { timeout: 30_000 }).toHaveLength(6)
    expect([most, new Set(slow.received.map(({ id }) => id)).size]).toEqual([1, 6])
    for (const { bizId } of hooks) await remove(bizId)
    await slow.close()
  })

  test('webhooks.create 400: a receiver in the network of the deployment', async () => {
    for (const url of [
      'http://10.0.0.1/',
      'https://169.254.169.254/',
      'https://[::ffff:7f00:1]/',
      'http://example.com/',
    ]) {
      const created = await world.web('POST', '/webhooks', { url, eventTypes: ['*'] })
      expect([url, ...codeOf(created)]).toEqual([url, ...invalid])
    }
  })

  test('webhooks.createPlatform, disableAny and the other commands of operators 200', async () => {
    const of = (command: string, body: object) => world.data(world.system('POST', `/webhooks/${command}`, body))
    const { bizId: webhookBizId } = await create({}, world.system)
    await transfer()
    await expect.poll(() => received('transfer.completed'), { timeout: 15_000 }).toHaveLength(1)
    await of('update', { webhookBizId, description: 'Warehouse' })
    receiver.secrets.push((await of('rotate-secret', { webhookBizId })).secret)
    const { bizId: deliveryBizId } = await of('test', { webhookBizId })
    await of('resend', { deliveryBizId })
    await of('replay', { webhookBizId, since: new Date().toISOString() })
    await of('disable', { webhookBizId })
    await of('enable', { webhookBizId })
    const theirs = await create()
    const { items } = await world.data(world.system('GET', '/webhooks'))
    const listed = items.map(({ bizId }: { bizId: string }) => bizId)
    expect(listed).toEqual(expect.arrayContaining([webhookBizId, theirs.bizId]))
    expect((await world.data(world.system('GET', `/webhooks/${webhookBizId}/deliveries`))).items.length).toBe(2)
    await of(`${theirs.bizId}/disable`, { reason: 'Abuse' })
    expect((await world.web('POST', '/webhooks/enable', { webhookBizId: theirs.bizId })).status).toBe(403)
    await of(`${theirs.bizId}/enable`, { reason: 'Mistake' })
    await world.data(world.web('POST', '/webhooks/enable', { webhookBizId: theirs.bizId }))
    await remove(theirs.bizId)
    await of('delete', { webhookBizId })
    const text = await (await fetch(`${world.portico.operationsUrl}/metrics`)).text()
    expect(text).toMatch(/^portico_webhook_attempts_total\{outcome="delivered"\} \d+$/m)
    expect(text).toMatch(/^portico_webhook_deliveries_waiting \d+$/m)
  })
})
