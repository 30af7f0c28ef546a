import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, fetch as fetchBy } from 'undici'
import { afterAll, describe, expect, test } from 'vitest'
import { startConfigured } from '../harness/configured.ts'
import { requiredHeaders } from '../harness/http.ts'
import { needsPostgres, needsRedis } from '../harness/needs.ts'
import { emptyPostgres } from '../harness/prepared-postgres.ts'
import { startRedis } from '../harness/redis.ts'
import { startRelay } from '../harness/relay.ts'
import { longTimeouts } from '../harness/settings.ts'

const postgres = await emptyPostgres({ synchronous_commit: 'on' })
const redis = await startRedis()
afterAll(async () => {
  await redis?.stop()
  await postgres?.stop()
})

const variables = {
  DATABASE_URL: postgres?.url ?? '',
  REDIS_URL: redis?.url ?? '',
  PORTICO_RATE_LIMIT_SCALE: '1000',
  LOG_LEVEL: 'error',
}
/** With long timeouts, so that a request cannot fail because the machine is busy. */
function start() {
  return startConfigured(variables, {
    database: longTimeouts,
    redis: { commandTimeoutMs: 1_000 },
    shutdown: { delayMs: 6_000, timeoutMs: 60_000 },
    requests: { bodyTimeoutMs: 60_000 },
  })
}

describe('SIGTERM', { ...needsPostgres(postgres), ...needsRedis(redis) }, () => {
  test('draining: requests are served, connections get `Connection: close`, and pending requests finish', async () => {
    const gateway = await start()
    const { hostname, port } = new URL(gateway.url)
    const body = JSON.stringify({ email: 'nobody@demo.test', password: 'no such password' })
    const slow = request({
      hostname,
      port,
      method: 'POST',
      path: '/web/v1/consumer/auth/login/initiate',
      headers: { ...requiredHeaders(), 'content-length': String(body.length) },
    })
    const answered = new Promise<number | undefined>((resolve, reject) => {
      slow.on('response', (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      slow.on('error', reject)
    })
    slow.write(body.slice(0, 10))
    const agent = new Agent({ connections: 1 })
    const get = async (init: object = {}) => {
      // An agent requires the fetch of its own undici version.
      const response = await fetchBy(`${gateway.url}/openapi.json`, init)
      await response.arrayBuffer()
      return response.headers.get('connection')
    }
    expect(await get({ dispatcher: agent })).not.toBe('close')
    const stopping = gateway.stop()
    await expect.poll(() => get({ dispatcher: agent })).toBe('close')
    // The listener closes while the pending request continues.
    await expect.poll(() => get().catch(() => 'nobody listens')).toBe('nobody listens')
    slow.end(body.slice(10))
    expect(await answered).toBe(401)
    expect(await stopping).toBe(0)
    await agent.close()
  })

  test('a request that never finishes is aborted by the shutdown timeout', async () => {
    const gateway = await startConfigured(variables, {
      shutdown: { delayMs: 0, timeoutMs: 500 },
      requests: { bodyTimeoutMs: 60_000 },
    })
    const { hostname, port } = new URL(gateway.url)
    const endless = request({
      hostname,
      port,
      method: 'POST',
      path: '/web/v1/consumer/auth/login/initiate',
      headers: { ...requiredHeaders(), 'content-length': '1000' },
    })
    endless.on('error', () => undefined)
    endless.write('{')
    await pause(200)
    const start = performance.now()
    expect(await gateway.stop()).toBe(0)
    // Without the shutdown, the body timeout would end the request after a minute.
    expect(performance.now() - start).toBeLessThan(50_000)
  })

  test('a silent database is abandoned after 5 s, and the last log line reports it', async () => {
    const through = new URL(postgres?.url ?? '')
    const relay = await startRelay(Number(through.port))
    through.port = String(relay.port)
    const gateway = await startConfigured(
      { ...variables, DATABASE_URL: through.href },
      { shutdown: { delayMs: 0, timeoutMs: 500 } },
    )
    relay.silence()
    const requested = fetch(`${gateway.operationsUrl}/health/ready`).catch(() => null)
    await pause(200)
    const start = performance.now()
    const closed = once(gateway.child, 'close')
    expect(await gateway.stop()).toBe(0)
    await closed
    expect(performance.now() - start).toBeGreaterThan(5_000)
    expect(gateway.output().trim().split('\n').at(-1)).toContain('shutdown timed out')
    await requested
    await relay.close()
  })
})

describe('two gateways without Redis', needsPostgres(postgres), () => {
  test('a second process on a database refuses to start with the reason', async () => {
    const { REDIS_URL: _, ...withoutRedis } = variables
    const first = await startConfigured(withoutRedis, {})
    await expect(startConfigured(withoutRedis, {})).rejects.toThrow(/another gateway runs on this database.*REDIS_URL/)
    expect(await first.stop()).toBe(0)
    const second = await startConfigured(withoutRedis, {})
    expect(await second.stop()).toBe(0)
  })
})
