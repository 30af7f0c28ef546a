import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { load } from 'js-yaml'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bankingDomains } from '../../../src/banking/index.ts'
import { prepareAccounts } from '../../../src/cli/deployment/prepare.ts'
import { addMs } from '../../../src/kernel/index.ts'
import { closeActors, openActors } from '../../../src/load/accounts.ts'
import { systemClock } from '../../../src/platform/runtime/index.ts'
import { runCli } from '../../harness/cli.ts'
import { startConfigured } from '../../harness/configured.ts'
import { inTopology, needsStore } from '../../harness/needs.ts'
import { productionKey, root } from '../../harness/settings.ts'
import { createStore, type TestStore } from '../../harness/store.ts'

const guide = readFileSync(join(root, 'docs/guides/load-test.md'), 'utf8')
/** The limits for a test, from the guide. */
const limits = load(/^ {2}```yaml\n(.*?)^ {2}```$/ms.exec(guide)?.[1] ?? '')
const production = {
  profile: 'production',
  publicUrl: 'https://portal.example',
  mail: { from: 'Portal <no-reply@portal.example>' },
  portals: { CONSUMER: { accessCodes: ['a'.repeat(64)] }, SYSTEM: { accessCodes: ['b'.repeat(64)] } },
}
const productionVariables = {
  PORTICO_SECRET_KEY: productionKey,
  DATABASE_URL: 'postgres://127.0.0.1:9/portico',
  SMTP_URL: 'smtps://mail.example',
}

describe('portico load --prepare', { ...needsStore('distributed') }, () => {
  let store: TestStore
  let gateway: Awaited<ReturnType<typeof startConfigured>>
  beforeAll(async () => {
    store = await createStore()
    gateway = await startConfigured({ ...store.variables, LOG_LEVEL: 'warn' }, Object(limits))
  })
  afterAll(async () => {
    await gateway?.stop()
    await store?.remove()
  })

  test('creates accounts, runs with them, and the ledger verifies', async () => {
    const { url, operationsUrl } = gateway
    const target = ['--url', url, '--operations-url', operationsUrl]
    const plan = [
      '--prepare',
      '2',
      '--scenario',
      'transfers',
      '--rate',
      '3',
      '--duration',
      '2',
      '--min-rate-ratio',
      '0',
    ]
    const { code, out, err } = await runCli(['load', ...target, ...plan], {}, store.variables)
    expect([code, out], err).toEqual([0, expect.stringMatching(/balances add up: 2 wallets.*passed/s)])
    const verified = await runCli(['ledger', 'verify'], {}, store.variables)
    expect([verified.code, verified.err]).toEqual([0, ''])
    const client = new Client({ connectionString: store.databaseUrl })
    await client.connect()
    const marked = await client.query("select email from accounts where email like '%@load.test'")
    await client.end()
    expect(marked.rowCount).toBe(2)
  })

  test('waits for the next time step if an earlier run has used the code', async () => {
    const accounts = await prepareAccounts(2, { domains: bankingDomains, variables: store.variables })
    let now = systemClock.now()
    const pauses: number[] = []
    const ports = {
      url: gateway.url,
      consumerCode: 'consumer-dev',
      edgeHeaders: true,
      timeoutMs: 30_000,
      operations: null,
      clock: { now: () => now },
      fetch,
      // The gateway accepts the code of the next step.
      pause: async (milliseconds: number) => {
        pauses.push(milliseconds)
        now = addMs(now, milliseconds)
      },
    }
    await closeActors(await openActors({ accounts: accounts.slice(0, 1) }, ports))
    expect(pauses).toEqual([])
    await closeActors(await openActors({ accounts: accounts.slice(0, 1) }, ports))
    expect(pauses).toHaveLength(1)
  })

  test('refuses a store without the demo accounts', async () => {
    const client = new Client({ connectionString: store.databaseUrl })
    await client.connect()
    await client.query("update accounts set password_hash = null where email = 'owner@demo.test'")
    await client.end()
    const { code, err } = await runCli(['load', '--prepare', '2'], {}, store.variables)
    expect([code, err]).toEqual([2, expect.stringContaining('DATABASE_URL has no demo accounts')])
  })
})

describe('portico load --prepare without a store', { ...inTopology('embedded') }, () => {
  test.each([
    ['the production profile', production, productionVariables, 'it works only in the development profile'],
    ['the embedded store', {}, {}, '--prepare needs the DATABASE_URL of the gateway'],
  ])('refuses %s: exit code 2', async (_name, configuration, variables, message) => {
    const { code, err } = await runCli(['load', '--prepare', '2'], configuration, variables)
    expect([code, err]).toEqual([2, expect.stringContaining(message)])
  })

  test('refuses --accounts in addition: exit code 2', async () => {
    const { code, err } = await runCli(['load', '--prepare', '2', '--accounts', 'accounts.yaml'], {})
    expect([code, err]).toEqual([2, expect.stringContaining('cannot be combined')])
  })

  test('production accepts the limits of the guide, and refuses a scale', async () => {
    const check = (changed: object) =>
      runCli(['config', 'check'], { ...production, ...changed }, { ...productionVariables })
    expect(await check(Object(limits))).toMatchObject({ code: 0 })
    expect((await check({ limits: { scale: 2 } })).err).toContain('limits.scale')
  })
})
