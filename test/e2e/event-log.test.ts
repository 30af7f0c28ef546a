import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { requiredHeaders } from '../harness/http.ts'
import { needsRedis } from '../harness/needs.ts'
import { startRedis } from '../harness/redis.ts'
import { root } from '../harness/settings.ts'
import { startMoneyWorld } from './money-world.ts'

const { mainUsd, savingsUsd } = developmentIds
const server = await startRedis()
afterAll(() => server?.stop())

interface Event {
  id: string
  type: string
  subject: string
}

describe('the example event-log', needsRedis(server), () => {
  let world: Awaited<ReturnType<typeof startMoneyWorld>>
  let redis: Redis
  let key: string
  const readers: ChildProcess[] = []
  const errors: string[] = []

  beforeAll(async () => {
    redis = new Redis(server?.url ?? '')
    world = await startMoneyWorld()
    const body = { apiKeyName: 'Event log', permissionCodes: ['event:read', 'transfer:read'] }
    key = (await world.data(world.web('POST', '/api-keys', body))).secret
  })
  afterEach(async () => {
    for (const reader of readers.splice(0)) await kill(reader)
    await redis.flushall()
    errors.splice(0)
  })
  afterAll(async () => {
    redis?.disconnect()
    await world?.portico.stop()
  })

  const start = (feed = '/api/v1/consumer/events', token = key, headers: object = requiredHeaders()) => {
    const reader = spawn(process.execPath, ['examples/event-log/reader.mjs'], {
      cwd: root,
      env: {
        ...process.env,
        PORTICO_FEED: `${world.portico.url}${feed}`,
        PORTICO_TOKEN: token,
        PORTICO_HEADERS: JSON.stringify(headers),
        REDIS_URL: server?.url,
      },
    })
    reader.stderr.on('data', (text: Buffer) => errors.push(text.toString()))
    readers.push(reader)
    return reader
  }
  const kill = async (reader: ChildProcess) => {
    if (reader.exitCode !== null || reader.signalCode !== null) return
    reader.kill('SIGKILL')
    await once(reader, 'exit')
  }
  const transfer = async (count: number) => {
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '0.01', currency: 'USD' }
    for (let done = 0; done < count; done++) await world.data(world.web('POST', '/transfer/command/create', body))
  }
  const feed = async (): Promise<string[]> => {
    const { events } = await world.data(world.web('GET', '/events?limit=500&type=transfer.completed'))
    return events.map(({ id }: Event) => id)
  }
  const log = async (): Promise<string[]> => {
    const entries = await redis.xrange('{portico}:events', '-', '+')
    const events = entries.map(([, [, text = '']]): Event => JSON.parse(text))
    return events.filter(({ type }) => type === 'transfer.completed').map(({ id }) => id)
  }
  const untilCopied = () =>
    expect.poll(async () => (await log()).length === (await feed()).length, { timeout: 20_000 }).toBe(true)

  test('a reader that is killed again and again: each event once, in the order of the feed', async () => {
    await transfer(5)
    for (let round = 0; round < 3; round++) {
      const reader = start()
      const before = (await log()).length
      await transfer(5)
      await expect.poll(async () => (await log()).length, { timeout: 20_000 }).toBeGreaterThan(before)
      await kill(reader)
      await transfer(3)
    }
    start()
    await untilCopied()
    expect(await log()).toEqual(await feed())
    expect(errors).toEqual([])
  })

  test('two readers at the same time: each event once, in the order of the feed', async () => {
    start()
    start()
    await transfer(10)
    await untilCopied()
    expect(await log()).toEqual(await feed())
  })

  test('the feed of operators, with the token of a session', async () => {
    start('/web/v1/system/events', world.operator.accessToken, requiredHeaders('system-dev'))
    await transfer(1)
    const last = (await feed()).at(-1) ?? ''
    await expect.poll(log, { timeout: 20_000 }).toContain(last)
  })

  test('events that expire before they are read: the reader stops, and prints the oldest cursor', async () => {
    await transfer(2)
    await redis.set('{portico}:events:cursor', '1')
    await world.portico.running.database.deleteFrom('events').where('workspacePosition', '<=', 3).execute()
    const reader = start()
    await expect.poll(() => reader.exitCode, { timeout: 20_000 }).toBe(1)
    expect(errors.join('')).toContain('SET {portico}:events:cursor 3\n')
  })
})
