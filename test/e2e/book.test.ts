import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { root } from '../harness/settings.ts'
import { storeIsAvailable } from '../harness/store.ts'

/** A book that somebody broke behind the database's back is found by one replica, told to each, and found by the command line. */
describe.skipIf(!storeIsAvailable() || inject('topology') !== 'split')('the book is watched', () => {
  let portico: Portico
  let url = ''
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.money.background.ledgerCheckMs = 1_000
        url = settings.databaseUrl?.reveal() ?? ''
      },
    })
    portico.expectFault(({ msg }) => msg === 'ledger check failed')
  })
  afterAll(() => portico?.stop())

  const verify = async (): Promise<{ code: number | null; output: string }> => {
    const child = spawn(process.execPath, ['bin/portico.js', 'ledger', 'verify'], {
      cwd: root,
      env: { ...process.env, DATABASE_URL: url, NODE_OPTIONS: '' },
    })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    await once(child, 'close')
    return { code: child.exitCode, output }
  }
  const ready = async () => (await fetch(`${portico.operationsUrl}/health/ready`)).status

  const goRound = async (change: string) => {
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query('ALTER TABLE ledger_accounts DISABLE TRIGGER ALL')
    await client.query(`UPDATE ledger_accounts SET balance = balance ${change} WHERE biz_id = $1`, [
      developmentIds.mainUsd,
    ])
    await client.query('ALTER TABLE ledger_accounts ENABLE TRIGGER ALL')
    await client.end()
  }

  test('ledger verify: exit code 0, or 1 with the inconsistent account; meanwhile the replica is not ready', async () => {
    expect(await verify()).toEqual({ code: 0, output: 'the ledger is consistent\n' })
    expect(await ready()).toBe(200)
    await goRound('+ 1')
    const broken = await verify()
    expect(broken.code).toBe(1)
    expect(broken.output).toContain(developmentIds.mainUsd)
    await expect.poll(ready).toBe(503)
    expect(await (await fetch(`${portico.operationsUrl}/metrics`)).text()).toMatch(/portico_ledger_discrepancies [1-9]/)
    await goRound('- 1')
    await expect.poll(ready).toBe(200)
  })
})
