import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../../src/seed/development.ts'
import { needsStore } from '../../harness/needs.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { root } from '../../harness/settings.ts'

/** Every replica and the command line report what one replica finds. */
describe('the ledger check', needsStore('distributed'), () => {
  let portico: Portico
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        settings.money.background.ledgerCheckMs = 1_000
        // The test changes an old row.
        settings.money.background.wholeLedgerCheckMs = 1_000
      },
    })
    portico.expectFault(({ msg }) => msg === 'ledger check failed')
  })
  afterAll(() => portico?.stop())

  const verify = async (): Promise<{ code: number | null; output: string }> => {
    const child = spawn(process.execPath, ['bin/portico.js', 'ledger', 'verify'], {
      cwd: root,
      env: { ...process.env, DATABASE_URL: portico.databaseUrl, NODE_OPTIONS: '' },
    })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    await once(child, 'close')
    return { code: child.exitCode, output }
  }
  const ready = async () => (await fetch(`${portico.operationsUrl}/health/ready`)).status

  const changeBalance = async (change: string) => {
    const client = new Client({ connectionString: portico.databaseUrl })
    await client.connect()
    await client.query('ALTER TABLE ledger_accounts DISABLE TRIGGER ALL')
    await client.query(`UPDATE ledger_accounts SET balance = balance ${change} WHERE biz_id = $1`, [
      developmentIds.mainUsd,
    ])
    await client.query('ALTER TABLE ledger_accounts ENABLE TRIGGER ALL')
    await client.end()
  }

  test('ledger verify: exit code 1 and the account for an imbalance; the replica is unready meanwhile', async () => {
    expect(await verify()).toEqual({ code: 0, output: 'the ledger is consistent\n' })
    expect(await ready()).toBe(200)
    await changeBalance('+ 1')
    const broken = await verify()
    expect(broken.code).toBe(1)
    expect(broken.output).toContain(developmentIds.mainUsd)
    await expect.poll(ready).toBe(503)
    expect(await (await fetch(`${portico.operationsUrl}/metrics`)).text()).toMatch(/portico_ledger_discrepancies [1-9]/)
    await changeBalance('- 1')
    await expect.poll(ready).toBe(200)
  })
})
