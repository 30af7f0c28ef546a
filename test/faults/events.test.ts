import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hours, minutes } from '../../src/kernel/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { startConfigured } from '../harness/configured.ts'
import { needsPostgres, needsRedis } from '../harness/needs.ts'
import { emptyPostgres } from '../harness/prepared-postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { startRedis, type TestRedis } from '../harness/redis.ts'
import { seededDirectory } from '../harness/template.ts'
import { burst, createClient, kill, sendRequest, signedIn, transfer, type User } from './client.ts'
import { settleAll } from './invariants.ts'
import { pauseAfter } from './pause-after.ts'

const postgres = await emptyPostgres({ synchronous_commit: 'on' })
let redis: TestRedis | undefined = await startRedis()
const { directory, remove } = await seededDirectory()
afterAll(async () => {
  await redis?.stop()
  await postgres?.stop()
  await remove()
})

const echoes = { extensions: ['./test/harness/extensions/echoes/index.js'] }
const variables = { PORTICO_RATE_LIMIT_SCALE: '1000', LOG_LEVEL: 'error' }

interface Event {
  id: string
  type: string
  subject: string
}

/** Reads the feed of the workspace by cursor, and keeps the cursor of the last reply that arrived. */
class FeedReader {
  readonly events: Event[] = []
  readonly #user: User
  #cursor = '0'
  #isReading = true
  readonly #done: Promise<void>

  constructor(user: User) {
    this.#user = user
    this.#done = this.#run()
  }

  async #run(): Promise<void> {
    while (this.#isReading) {
      await this.#next()
      await pause(50)
    }
  }

  async #next(): Promise<void> {
    const path = `/events?after=${this.#cursor}&type=transfer.completed&limit=500`
    const answer = await sendRequest(this.#user, 'GET', path).catch(() => null)
    if (answer?.status !== 200) return
    this.events.push(...answer.body.data.events)
    this.#cursor = answer.body.data.nextCursor
  }

  async stop(): Promise<void> {
    this.#isReading = false
    await this.#done
  }
}

async function echoesOf(user: User, order: string): Promise<{ event: string }[]> {
  const { body } = await sendRequest(user, 'GET', `/echoes/${order}`)
  return body.data
}

describe('events of a burst of transfers', { ...needsPostgres(postgres), ...needsRedis(redis) }, () => {
  let replicas: PorticoProcess[] = []
  const start = (aheadMs = 0) => {
    const stores = { DATABASE_URL: postgres?.url ?? '', REDIS_URL: redis?.url ?? '' }
    const configuration = { ...echoes, database: { maxClockSkewMs: hours(1) }, redis: { commandTimeoutMs: 1_000 } }
    const ahead = `data:text/javascript,const { now } = Date; Date.now = () => now() + ${aheadMs}`
    return startConfigured({ ...variables, ...stores }, configuration, 'gateway', ['--import', ahead])
  }
  beforeAll(async () => {
    replicas = [await start(), await start()]
  })
  afterAll(async () => {
    for (const each of replicas) await each.stop()
  })

  test('a replica is killed, PostgreSQL crashes, Redis restarts: each order has one event and one reaction', async () => {
    if (!postgres || !redis) throw new Error('no store')
    const user = await signedIn(
      createClient(() => replicas.filter(({ child }) => child.exitCode === null && !child.killed)),
    )
    const reader = new FeedReader(user)
    const run = burst(user, 4)
    const acknowledged = () => run.attempts.filter(({ status }) => status === 200).length
    const further = async (count: number) => {
      const wanted = acknowledged() + count
      await expect.poll(acknowledged, { timeout: 60_000 }).toBeGreaterThan(wanted)
    }
    await further(12)
    const [first] = replicas
    if (!first) throw new Error('no replica')
    await kill(first)
    replicas = replicas.filter((each) => each !== first)
    await further(12)
    await postgres.crash()
    await postgres.resume()
    await further(12)
    const port = Number(new URL(redis.url).port)
    await redis.stop()
    redis = await startRedis([], port)
    await further(12)
    const attempts = await run.stop()
    await settleAll(user, attempts)
    const orders = new Set<string>()
    for (const { orderId } of attempts) if (orderId !== null) orders.add(orderId)
    const seen = () => new Set(reader.events.map(({ subject }) => subject))
    await expect.poll(() => seen().isSupersetOf(orders), { timeout: 20_000 }).toBe(true)
    await reader.stop()
    expect(new Set(reader.events.map(({ id }) => id)).size).toBe(reader.events.length)
    expect(seen().size).toBe(reader.events.length)
    // A job of a killed process is leased for 30 s.
    for (const { id, subject } of reader.events)
      await expect.poll(() => echoesOf(user, subject), { timeout: 50_000 }).toMatchObject([{ event: id }])
  })

  test.each([
    ['before the event has a position', 'INSERT ON events', minutes(1)],
    ['during the reaction', 'INSERT ON echoes', minutes(2)],
  ])('the gateway is killed after a transfer, %s: one event and one reaction', async (_point, statement, aheadMs) => {
    const url = postgres?.url ?? ''
    const user = await signedIn(createClient(() => replicas))
    const { body: before } = await sendRequest(user, 'GET', '/events?limit=1')
    const { waiting, release } = await pauseAfter(url, statement)
    const { orderId } = await transfer(user)
    await expect.poll(waiting).toBeGreaterThan(0)
    for (const each of replicas) await kill(each)
    await release()
    // The lease of a killed process has ended.
    replicas = [await start(aheadMs)]
    await expect.poll(() => echoesOf(user, String(orderId))).toHaveLength(1)
    const path = `/events?after=${before.data.latestCursor}&type=transfer.completed`
    const { events } = (await sendRequest(user, 'GET', path)).body.data
    expect(events).toMatchObject([{ subject: orderId }])
    expect(await echoesOf(user, String(orderId))).toMatchObject([{ event: events[0].id }])
  })
})

test('the gateway is killed while a reaction runs, on the embedded store: the reaction takes effect once', async () => {
  const start = () => startConfigured({ ...variables, PORTICO_DATA_DIR: directory }, echoes)
  let gateway = await start()
  const user = await signedIn(createClient(() => [gateway]))
  const { mainUsd: sourceWalletBizId, savingsUsd: targetWalletBizId } = developmentIds
  const body = { sourceWalletBizId, targetWalletBizId, amount: '0.01', currency: 'USD', remark: 'wait 700' }
  const { body: reply } = await sendRequest(user, 'POST', '/transfer/command/create', { body })
  // The poll of the jobs, and a part of the reaction.
  await pause(900)
  await kill(gateway)
  gateway = await start()
  await expect.poll(() => echoesOf(user, reply.data.bizId), { timeout: 50_000 }).toHaveLength(1)
  const { body: feed } = await sendRequest(user, 'GET', '/events?type=transfer.completed')
  const own = feed.data.events.filter(({ subject }: Event) => subject === reply.data.bizId)
  expect(own).toHaveLength(1)
  expect(await echoesOf(user, reply.data.bizId)).toMatchObject([{ event: own[0].id }])
  expect(await gateway.stop()).toBe(0)
})
