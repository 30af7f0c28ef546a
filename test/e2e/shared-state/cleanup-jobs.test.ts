import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'

/** Expired rows are deleted a day after their expiry. */
describe('cleanup jobs', needsStore('distributed'), () => {
  let portico: Portico
  let client: Client
  beforeAll(async () => {
    portico = await startPortico({
      pace: { everyMs: { 'ledger.deleteExpiredResults': 1_000, 'exchanges.deleteExpiredQuotes': 1_000 } },
    })
    client = new Client({ connectionString: portico.databaseUrl })
    await client.connect()
  })
  afterAll(async () => {
    await client?.end()
    await portico?.stop()
  })

  const left = async (table: string): Promise<string[]> =>
    (await client.query(`SELECT ${table === 'idempotency' ? 'request_id' : 'figures->>0'} AS name FROM ${table}`)).rows
      .map(({ name }) => name)
      .sort()

  test('ledger.deleteExpiredResults: deletes a result older than a day, not a younger one', async () => {
    const response = (name: string, age: string) =>
      client.query(
        `INSERT INTO idempotency VALUES (gen_random_uuid(), gen_random_uuid(), 'x', $1, 'x', 'null', now() - $2::interval)`,
        [name, age],
      )
    await response('young', '23 hours')
    await response('old', '25 hours')
    await expect.poll(() => left('idempotency')).toEqual(['young'])
  })

  test('jobs.deleteFailed: deletes a failed job after 30 days, not a younger or a pending one', async () => {
    const job = (name: string, status: string, age: string) =>
      client.query(
        `INSERT INTO jobs (biz_id, kind, payload, status, run_at, created_at)
         VALUES (gen_random_uuid(), $1, '{}', $2, now() - $3::interval, now())`,
        [name, status, age],
      )
    await job('test.old', 'FAILED', '31 days')
    await job('test.young', 'FAILED', '29 days')
    await job('test.waiting', 'WAITING', '31 days')
    await client.query(`UPDATE jobs SET run_at = now() WHERE kind = 'jobs.deleteFailed'`)
    const jobs = async () =>
      (await client.query(`SELECT kind FROM jobs WHERE kind LIKE 'test.%' ORDER BY kind`)).rows.map(({ kind }) => kind)
    await expect.poll(jobs).toEqual(['test.waiting', 'test.young'])
  })

  test('exchanges.deleteExpiredQuotes: deletes an unused quote a day after expiry, not a used one', async () => {
    const quote = (name: string, age: string, isUsed: boolean) =>
      client.query(
        `INSERT INTO exchange_quotes VALUES ($1, gen_random_uuid(), $2, $3, jsonb_build_array($4::text),
           gen_random_uuid(), now(), now() - $5::interval, CASE WHEN $6 THEN gen_random_uuid() END)`,
        [developmentIds.workspace, developmentIds.mainUsd, developmentIds.mainEur, name, age, isUsed],
      )
    await quote('late', '23 hours', false)
    await quote('used', '25 hours', true)
    await quote('gone', '25 hours', false)
    await expect.poll(() => left('exchange_quotes')).toEqual(['late', 'used'])
  })
})
