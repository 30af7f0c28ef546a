import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { type Session, signIn } from '../../harness/sign-in.ts'

/** A lock on the wallet delays the first request until the second one arrives. */
describe('a money command in flight', needsStore('distributed'), () => {
  const { workspace, mainUsd, savingsUsd } = developmentIds
  let portico: Portico
  let owner: Session
  let client: Client
  beforeAll(async () => {
    portico = await startPortico()
    owner = await signIn(portico)
    client = new Client({ connectionString: portico.databaseUrl })
    await client.connect()
  })
  afterAll(async () => {
    await client?.end()
    await portico?.stop()
  })

  test('transfers.create 409 REQUEST.IN_PROGRESS with Retry-After, then the first response', async () => {
    const id = randomUUID()
    const body = { sourceWalletBizId: mainUsd, targetWalletBizId: savingsUsd, amount: '1.00', currency: 'USD' }
    const send = () =>
      portico.call('POST', '/web/v1/consumer/transfer/command/create', {
        token: owner.accessToken,
        workspace,
        headers: { 'x-request-id': id },
        body,
      })
    const waiting = async () =>
      (
        await client.query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        )
      ).rowCount
    await client.query('BEGIN')
    await client.query('SELECT FROM ledger_accounts WHERE biz_id = $1 FOR UPDATE', [mainUsd])
    const first = send()
    await expect.poll(waiting, { interval: 20 }).toBe(1)
    const second = await send()
    await client.query('COMMIT')
    expect([second.status, second.body.code]).toEqual([409, 'REQUEST.IN_PROGRESS'])
    expect(second.headers.get('retry-after')).toBe('1')
    const { status, body: done } = await first
    expect([status, done.data.transferStatus.code]).toEqual([200, 'COMPLETED'])
    expect((await send()).body.data).toEqual(done.data)
  })
})
