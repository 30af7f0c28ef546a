import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { needsPostgres, needsRedis } from '../harness/needs.ts'
import type { TestPostgres } from '../harness/postgres.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import { type PorticoProcess, startProcess } from '../harness/process.ts'
import { startRedis } from '../harness/redis.ts'
import { startRelay } from '../harness/relay.ts'
import { type Attempt, burst, createClient, sendRequest, signedIn, transfer, type User } from './client.ts'
import { checkBook, settleAll } from './invariants.ts'

const redis = await startRedis()
const primary = await seededPostgres({ synchronous_commit: 'on' })
const standby = await primary?.standby()
function portOf(server: TestPostgres) {
  return Number(new URL(server.url).port)
}
const relay = primary && (await startRelay(portOf(primary)))
afterAll(async () => {
  await relay?.close()
  await standby?.stop()
  await primary?.stop()
  await redis?.stop()
})

function acknowledgedIn({ attempts }: ReturnType<typeof burst>): number {
  return attempts.filter(({ status }) => status === 200).length
}

async function query(url: string, statements: string[]): Promise<unknown[]> {
  const admin = new Client({ connectionString: url })
  admin.on('error', () => undefined)
  await admin.connect()
  const answers: unknown[] = []
  for (const statement of statements) answers.push((await admin.query(statement)).rows[0])
  await admin.end()
  return answers
}

describe('PostgreSQL fails over to a synchronous standby', { ...needsPostgres(standby), ...needsRedis(redis) }, () => {
  let replicas: PorticoProcess[]
  let user: User
  const all: Attempt[] = []
  const url = new URL(primary?.url ?? '')
  url.port = String(relay?.port)
  const readiness = () =>
    Promise.all(replicas.map(async ({ operationsUrl }) => (await fetch(`${operationsUrl}/health/ready`)).status))

  beforeAll(async () => {
    await query(primary?.url ?? '', ["ALTER SYSTEM SET synchronous_standby_names = '*'", 'SELECT pg_reload_conf()'])
    const variables = {
      DATABASE_URL: url.href,
      REDIS_URL: redis?.url ?? '',
      PORTICO_RATE_LIMIT_SCALE: '1000',
      LOG_LEVEL: 'warn',
    }
    replicas = [await startProcess(variables), await startProcess(variables)]
    user = await signedIn(createClient(() => replicas))
  })
  afterAll(async () => {
    for (const each of replicas ?? []) await each.stop()
  })

  test('the primary dies under load: 503 with Retry-After, acknowledged transfers exist, replicas keep running', async () => {
    const run = burst(user, 8)
    await expect.poll(() => acknowledgedIn(run), { timeout: 60_000 }).toBeGreaterThan(100)
    await primary?.crash()
    const during = await sendRequest(user, 'GET', '/wallets')
    expect([during.status, during.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await readiness()).toEqual([503, 503])
    const before = acknowledgedIn(run)
    await query(standby?.url ?? '', ["ALTER SYSTEM SET synchronous_standby_names = ''", 'SELECT pg_promote()'])
    relay?.leadTo(Number(new URL(standby?.url ?? '').port))
    await expect.poll(() => acknowledgedIn(run), { timeout: 60_000 }).toBeGreaterThan(before + 20)
    all.push(...(await run.stop()))
    expect([...new Set(all.map(({ status }) => status))].sort()).toEqual([200, 503])
    await expect.poll(readiness).toEqual([200, 200])
    await checkBook({ url: standby?.url ?? '' }, await settleAll(user, all))
  })

  test('demoted with open connections: writes are 503, reads work, and a new primary replaces all connections', async () => {
    const next = await standby?.standby()
    if (!standby || !next) throw new Error('no standby')
    const connections = ({ url: server }: TestPostgres) =>
      query(server, ["SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'portico'"])
    try {
      await query(standby.url, ['ALTER SYSTEM SET default_transaction_read_only = on', 'SELECT pg_reload_conf()'])
      await expect.poll(async () => (await transfer(user)).status).toBe(503)
      for (let time = 0; time < 20; time++) expect((await sendRequest(user, 'GET', '/wallets')).status).toBe(200)
      const run = burst(user, 2)
      await query(next.url, ['SELECT pg_promote()'])
      relay?.leadTo(portOf(next))
      await expect.poll(() => acknowledgedIn(run)).toBeGreaterThan(20)
      await expect.poll(() => connections(standby)).toEqual([{ n: 0 }])
      all.push(...(await run.stop()))
      await checkBook({ url: next.url }, await settleAll(user, all))
    } finally {
      await next.stop()
    }
  })
})
