import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startConfigured } from '../harness/configured.ts'
import { needsPostgres } from '../harness/needs.ts'
import type { TestPostgres } from '../harness/postgres.ts'
import { seededPostgres } from '../harness/prepared-postgres.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { longTimeouts } from '../harness/settings.ts'
import { burst, createClient, sendRequest, signedIn, transfer, type User } from './client.ts'
import { checkBook, settleAll } from './invariants.ts'

const postgres: TestPostgres | undefined = await seededPostgres({ synchronous_commit: 'on' })
afterAll(() => postgres?.stop())

describe('PostgreSQL fails', needsPostgres(postgres), () => {
  let gateway: PorticoProcess
  let user: User
  const url = postgres?.url ?? ''
  let transfers = 0

  beforeAll(async () => {
    gateway = await startConfigured(
      { DATABASE_URL: url, PORTICO_RATE_LIMIT_SCALE: '1000', LOG_LEVEL: 'error' },
      { database: longTimeouts },
    )
    user = await signedIn(createClient(() => [gateway]))
  })
  afterAll(() => gateway?.stop())

  const administrate = async (statements: string[]): Promise<void> => {
    const admin = new Client({ connectionString: url })
    admin.on('error', () => undefined)
    await admin.connect()
    for (const statement of statements) await admin.query(statement)
    await admin.end()
  }
  const acknowledged = (run: ReturnType<typeof burst>) => run.attempts.filter(({ status }) => status === 200).length

  /** The pool must recover without a restart. */
  const settle = async (run: ReturnType<typeof burst>): Promise<number[]> => {
    const before = acknowledged(run)
    await expect.poll(() => acknowledged(run), { timeout: 60_000 }).toBeGreaterThan(before + 20)
    const attempts = await run.stop()
    all.push(...attempts)
    transfers = await settleAll(user, all)
    await checkBook({ url }, transfers)
    return [...new Set(attempts.map(({ status }) => status))].sort()
  }
  const all: Awaited<ReturnType<ReturnType<typeof burst>['stop']>> = []

  test('immediate shutdown and restart: 503, never 2xx for an unknown commit', async () => {
    const run = burst(user, 8)
    await expect.poll(() => acknowledged(run), { timeout: 60_000 }).toBeGreaterThan(80)
    await postgres?.crash()
    const during = await transfer(user)
    expect(during.status).toBe(503)
    all.push(during)
    expect((await fetch(`${gateway.operationsUrl}/health/ready`)).status).toBe(503)
    await postgres?.resume()
    expect(await settle(run)).toEqual([200, 503])
    await expect.poll(async () => (await fetch(`${gateway.operationsUrl}/health/ready`)).status).toBe(200)
  })

  test('backends terminated during COMMIT', async () => {
    const run = burst(user, 8)
    for (let round = 0; round < 40; round++) {
      await administrate([
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'portico' AND state = 'active'",
      ])
      await pause(25)
    }
    expect(await settle(run)).toEqual([200, 503])
  })

  test('a locked table: 503 within the lock timeout, and unrelated routes respond meanwhile', async () => {
    const admin = new Client({ connectionString: url })
    await admin.connect()
    await admin.query('BEGIN; LOCK TABLE orders IN ACCESS EXCLUSIVE MODE')
    let refused = 0
    const waiting = Array.from({ length: 8 }, () => transfer(user).finally(() => refused++))
    for (let time = 0; time < 10; time++) {
      expect((await sendRequest(user, 'GET', '/profile')).status).toBe(200)
      expect((await sendRequest(user, 'GET', '/constants/timezones')).status).toBe(200)
      await pause(100)
    }
    // Waiting for the table or a connection would take as long.
    expect(refused).toBe(0)
    const answers = await Promise.all(waiting)
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(503))
    await admin.query('COMMIT')
    await admin.end()
    all.push(...answers)
    transfers = await settleAll(user, all)
    await checkBook({ url }, transfers)
  })
})
