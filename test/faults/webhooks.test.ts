import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { days, minutes } from '../../src/kernel/index.ts'
import { startConfigured } from '../harness/configured.ts'
import { needsPostgres, needsRedis } from '../harness/needs.ts'
import { freePort } from '../harness/postgres.ts'
import { execute, seededPostgres } from '../harness/prepared-postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { type Receiver, startReceiver } from '../harness/receiver.ts'
import { startRedis, type TestRedis } from '../harness/redis.ts'
import { longTimeouts } from '../harness/settings.ts'
import { createClient, kill, sendRequest, signedIn, transfer, type User } from './client.ts'
import { connectTo, pauseAfter } from './pause-after.ts'

const postgres = await seededPostgres({ synchronous_commit: 'on' })
const url = postgres?.url ?? ''
let redis: TestRedis | undefined = await startRedis()
const receiverPort = await freePort()
let receiver: Receiver = await startReceiver(receiverPort)
afterAll(async () => {
  await receiver.close()
  await redis?.stop()
  await postgres?.stop()
})

const shim = new URL('shifted-clock.mjs', import.meta.url).href
/** Longer than a lease and a run. */
const stepMs = minutes(20)

async function ask<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
  const client = await connectTo(url)
  return (await client.query<Row>(text, values).finally(() => client.end())).rows
}

describe('webhooks', { ...needsPostgres(postgres), ...needsRedis(redis) }, () => {
  let replicas: PorticoProcess[] = []
  let aheadMs = 0
  let user: User
  let webhook: string

  const start = () =>
    startConfigured(
      {
        DATABASE_URL: url,
        REDIS_URL: redis?.url ?? '',
        PORTICO_RATE_LIMIT_SCALE: '1000',
        PORTICO_TEST_CLOCK_SHIFT: String(stepMs),
        LOG_LEVEL: 'error',
      },
      { database: { ...longTimeouts, maxClockSkewMs: days(1) }, redis: { commandTimeoutMs: 1_000 } },
      'gateway',
      ['--import', `data:text/javascript,const { now } = Date; Date.now = () => now() + ${aheadMs}`, '--import', shim],
    )
  /** Ends the leases and runs of killed processes. The access token ends, too. */
  const moveClock = async () => {
    aheadMs += stepMs
    receiver.aheadMs = aheadMs
    for (const { child } of replicas) child.kill('SIGUSR2')
    // Signals that arrive together count once, so wait until the next recurring job has the new time.
    const recurred = async () => {
      const after = new Date(Date.now() + aheadMs - minutes(1))
      return (await ask(`SELECT 1 FROM jobs WHERE kind = 'webhooks.sweep' AND run_at > $1`, [after])).length
    }
    if (replicas.length > 0) await expect.poll(recurred, { timeout: 60_000 }).toBe(1)
  }
  const signInAgain = async () => {
    user = await signedIn(createClient(() => replicas))
  }

  beforeAll(async () => {
    replicas = [await start()]
  })
  afterAll(async () => {
    for (const each of replicas) await each.stop()
  })
  beforeEach(async () => {
    await execute(url, `UPDATE webhooks SET webhook_status = 'DELETED'`)
    await signInAgain()
    receiver.received.length = 0
    receiver.respond = (_request, response) => void response.end()
    const body = { url: receiver.url, eventTypes: ['transfer.completed'] }
    const created = await sendRequest(user, 'POST', '/webhooks', { body })
    expect(created.status, created.text).toBe(200)
    webhook = created.body.data.bizId
    receiver.secrets = [created.body.data.secret]
  })

  /** Tries again until it succeeds. */
  const order = async (): Promise<string> => {
    let orderId: string | null = null
    const requestId = crypto.randomUUID()
    const attempt = async () => {
      const answer = await transfer(user, requestId)
      orderId = answer.orderId
      return answer.status
    }
    await expect.poll(attempt, { timeout: 60_000 }).toBe(200)
    return String(orderId)
  }
  const orders = async (count: number): Promise<string[]> => {
    const made: string[] = []
    while (made.length < count) made.push(await order())
    return made
  }
  const deliveries = () =>
    ask<{ status: string; attempts: number }>(
      'SELECT delivery_status AS status, attempts FROM webhook_deliveries WHERE webhook_biz_id = $1',
      [webhook],
    )
  const requests = (count: number) =>
    expect.poll(() => receiver.received.length, { timeout: 30_000 }).toBeGreaterThanOrEqual(count)
  /** All requests have valid signatures, and each order arrived with one id, once or several times. */
  const allDelivered = async (made: readonly string[]) => {
    const statuses = async () => (await deliveries()).map(({ status }) => status)
    await expect.poll(statuses, { timeout: 60_000 }).toEqual(made.map(() => 'DELIVERED'))
    for (const { id, event } of receiver.received) expect(event?.id).toBe(id)
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(made.length)
    expect(new Set(receiver.received.map(({ event }) => event?.subject))).toEqual(new Set(made))
  }
  /** Holds the responses. Returns a function that sends them. */
  const holdResponses = () => {
    const held: ServerResponse[] = []
    receiver.respond = (_request, response) => void held.push(response)
    return () => {
      receiver.respond = (_request, response) => void response.end()
      for (const response of held) response.end()
    }
  }
  /** Kills the only gateway, and starts another one after the leases of the first. */
  const replaceKilled = async (whileDown: () => unknown) => {
    for (const each of replicas) await kill(each)
    await whileDown()
    replicas = []
    await moveClock()
    replicas = [await start()]
  }

  test.each([
    ['before the event has a position', 'INSERT ON events', 1],
    ['before the request is sent', 'UPDATE OF run_biz_id ON webhooks', 1],
    ['before the response is recorded', 'UPDATE OF response_status ON webhook_deliveries', 2],
  ])('the gateway is killed after a transfer, %s: the event arrives', async (_point, statement, count) => {
    const { waiting, release } = await pauseAfter(url, statement)
    const made = await orders(1)
    await expect.poll(waiting).toBeGreaterThan(0)
    await replaceKilled(release)
    await allDelivered(made)
    expect(receiver.received).toHaveLength(count)
  })

  test('the gateway is killed between send and response: the request arrives again with the same id', async () => {
    const release = holdResponses()
    const made = await orders(1)
    await requests(1)
    await replaceKilled(release)
    await allDelivered(made)
    expect(receiver.received).toHaveLength(2)
  })

  test('one of two replicas is killed in a series: one request at a time, and all events arrive', async () => {
    replicas.push(await start())
    const open = new Set<ServerResponse>()
    let most = 0
    const reply = (response: ServerResponse) => {
      open.delete(response)
      response.end()
    }
    receiver.respond = (_request, response) => {
      most = Math.max(most, open.add(response).size)
      response.once('close', () => open.delete(response))
      if (receiver.received.length !== 4) reply(response)
    }
    const sentBy = async ({ operationsUrl }: PorticoProcess) => {
      const text = await (await fetch(`${operationsUrl}/metrics`)).text()
      return Number(/^portico_webhook_attempts_total\{outcome="delivered"\} (\d+)$/m.exec(text)?.[1] ?? 0)
    }
    const command = async (name: string, more: object = {}) => {
      const { body } = await sendRequest(user, 'POST', `/webhooks/${name}`, {
        body: { webhookBizId: webhook, ...more },
      })
      return body.data
    }
    const since = new Date().toISOString()
    await command('disable')
    const made = await orders(8)
    const events = `SELECT 1 FROM events WHERE event_type = 'transfer.completed' AND at >= $1`
    await expect.poll(async () => (await ask(events, [since])).length).toBe(8)
    await command('enable')
    const before = await Promise.all(replicas.map(sentBy))
    // All are due at the same time, so that one process sends the first ones.
    expect(await command('replay', { since })).toMatchObject({ scheduled: 8 })
    await requests(4)
    const sent = (await Promise.all(replicas.map(sentBy))).map((now, index) => now - (before[index] ?? 0))
    expect(sent.toSorted()).toEqual([0, 3])
    const sender = replicas[sent.indexOf(3)]
    if (!sender) throw new Error('no sender')
    await kill(sender)
    await expect.poll(() => open.size).toBe(0)
    replicas = replicas.filter((each) => each !== sender)
    await moveClock()
    await allDelivered(made)
    expect([most, receiver.received.length]).toEqual([1, 9])
  })

  test('PostgreSQL crashes and Redis restarts during deliveries: all events arrive', async () => {
    if (!postgres || !redis) throw new Error('no store')
    const releaseFirst = holdResponses()
    const made = await orders(3)
    await requests(1)
    await postgres.crash()
    // Nobody can record the response.
    releaseFirst()
    await postgres.resume()
    made.push(await order())
    await moveClock()
    await allDelivered(made)
    await signInAgain()
    const releaseSecond = holdResponses()
    const arrived = receiver.received.length
    made.push(...(await orders(2)))
    await requests(arrived + 1)
    const port = Number(new URL(redis.url).port)
    await redis.stop()
    releaseSecond()
    redis = await startRedis([], port)
    made.push(await order())
    await allDelivered(made)
  })

  test('a receiver is down for an hour: all events arrive afterwards, and the webhook is active', async () => {
    const due = async () => {
      const now = new Date(Date.now() + aheadMs)
      const found = `SELECT 1 FROM webhook_deliveries WHERE webhook_biz_id = $1 AND next_attempt_at <= $2`
      return (await ask(found, [webhook, now])).length
    }
    const moveOn = async () => {
      await moveClock()
      await expect.poll(due, { timeout: 60_000 }).toBe(0)
    }
    const attempts = async () => (await deliveries()).map((each) => each.attempts)
    const { secrets } = receiver
    await receiver.close()
    const made = await orders(5)
    await expect.poll(attempts).toEqual(made.map(() => expect.toSatisfy((count: number) => count >= 1)))
    for (let steps = 0; steps < 3; steps++) await moveOn()
    expect(Math.min(...(await attempts()))).toBeGreaterThanOrEqual(3)
    receiver = await startReceiver(receiverPort)
    Object.assign(receiver, { secrets, aheadMs })
    // The next pause is two hours.
    for (let steps = 0; steps < 8 && receiver.received.length < made.length; steps++) await moveOn()
    await allDelivered(made)
    expect(receiver.received).toHaveLength(5)
    await signInAgain()
    const { body } = await sendRequest(user, 'GET', `/webhooks/${webhook}`)
    expect(body.data).toMatchObject({ webhookStatus: { code: 'ACTIVE' }, failingSince: null })
  })
})
