import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { runCli } from '../harness/cli.ts'
import { startConfigured } from '../harness/configured.ts'
import { type Answer, type Call, send } from '../harness/http.ts'
import { emptyDirectory } from '../harness/prepared-pglite.ts'
import type { PorticoProcess } from '../harness/process.ts'
import { outboxOf, signIn } from '../harness/sign-in.ts'
import { createStore, type TestStore } from '../harness/store.ts'

const workspace = developmentIds.workspace
const invalid = 'VALIDATION.INVALID_PARAMETER'

const optional = [
  'profile',
  'invitations',
  'roles',
  'apiKeys',
  'provisioning',
  'exchanges',
  'recharges',
  'transfers',
  'withdrawalChannels',
  'withdrawals',
  'wallets',
  'files',
  'exports',
  'constants',
  'sandbox',
]
function off(names: readonly string[]) {
  return { domains: Object.fromEntries(names.map((name) => [name, 'off'])) }
}

async function clientOf(gateway: PorticoProcess) {
  const call = (method: string, path: string, options?: Call): Promise<Answer> =>
    send(gateway.url, method, path, options)
  const mailTo = outboxOf(gateway)
  const { accessToken: token } = await signIn({ call, mailTo }, 'owner@demo.test')
  const get = (path: string) => call('GET', path, { token, workspace })
  return { call, get, openapi: async () => (await fetch(`${gateway.url}/openapi.json`)).text() }
}

// Other topologies have the tables already.
describe('domains that are off', () => {
  describe('one domain', () => {
    let store: TestStore
    let gateway: PorticoProcess
    let client: Awaited<ReturnType<typeof clientOf>>
    beforeAll(async () => {
      store = await createStore()
      gateway = await startConfigured(store.variables, off(['exchanges', 'apiKeys', 'provisioning']))
      client = await clientOf(gateway)
    })
    afterAll(async () => {
      await gateway?.stop()
      await store?.remove()
    })

    test('exchanges.list 404 ROUTE.NOT_FOUND: the operations of a domain that is off have no route', async () => {
      const answer = await client.get('/web/v1/consumer/exchanges')
      expect([answer.status, answer.body.code]).toEqual([404, 'ROUTE.NOT_FOUND'])
      const operator = await client.call('GET', '/web/v1/system/exchange-rates')
      expect([operator.status, operator.body.code]).toEqual([404, 'ROUTE.NOT_FOUND'])
    })

    test('wallets.list 401 ACCESS.TOKEN_INVALID: without the domain apiKeys, no API key is valid', async () => {
      const answer = await client.call('GET', '/api/v1/consumer/wallets', { token: `ptk_${'k'.repeat(60)}` })
      expect([answer.status, answer.body.code]).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    })

    test('wallets.list 200: other domains keep working', async () => {
      expect((await client.get('/web/v1/consumer/wallets')).status).toBe(200)
    })

    test('the OpenAPI document and the permission tree do not contain the domain', async () => {
      const document = await client.openapi()
      expect([document.includes('consumer.transfers.create'), document.includes('/exchanges')]).toEqual([true, false])
      const tree = await client.get('/web/v1/consumer/roles/permissions/tree')
      expect(tree.status, tree.text).toBe(200)
      expect(tree.text).toContain('transfer:create')
      expect(tree.text).not.toContain('exchange:')
    })

    test('exports.create 400 VALIDATION.INVALID_PARAMETER: the export type of a domain that is off is unknown', async () => {
      const { accessToken: token } = await signIn({ call: client.call, mailTo: outboxOf(gateway) }, 'owner@demo.test')
      const create = (exportType: string) =>
        client.call('POST', '/web/v1/consumer/exports', { token, workspace, body: { exportType, format: 'CSV' } })
      expect([(await create('EXCHANGES')).body.code, (await create('NOTHING')).body.code]).toEqual([invalid, invalid])
      expect((await create('TRANSFERS')).status).toBe(200)
      expect((await client.get('/web/v1/consumer/exports?exportType=EXCHANGES')).body.code).toBe(invalid)
      expect((await client.get('/web/v1/consumer/exports?exportType=TRANSFERS')).status).toBe(200)
      const flows = `/web/v1/consumer/wallets/${developmentIds.mainUsd}/flows`
      expect((await client.get(`${flows}?flowType=EXCHANGE`)).body.code).toBe(invalid)
      expect((await client.get(`${flows}?flowType=TRANSFER`)).status).toBe(200)
      expect(await client.openapi()).not.toContain('EXCHANGE')
    })

    test('the metrics do not contain the jobs of the domain', async () => {
      const metrics = await (await fetch(`${gateway.operationsUrl}/metrics`)).text()
      expect(metrics).toContain('kind="recharges.')
      expect(metrics).not.toContain('kind="exchanges.')
    })
  })

  test('a new store without any optional domain: sign-in works, and no wallet is seeded', async () => {
    const { directory, remove } = await emptyDirectory()
    const gateway = await startConfigured({ PORTICO_DATA_DIR: directory }, off(optional))
    try {
      const client = await clientOf(gateway)
      expect((await client.get('/web/v1/consumer/workspaces/current')).status).toBe(200)
      expect((await client.get('/web/v1/consumer/wallets')).body.code).toBe('ROUTE.NOT_FOUND')
    } finally {
      await gateway.stop()
      await remove()
    }
  })

  test('operators.freezeWorkspace 200: without recharges and withdrawals, neither is in the reply', async () => {
    const { directory, remove } = await emptyDirectory()
    const gateway = await startConfigured({ PORTICO_DATA_DIR: directory }, off(['recharges', 'withdrawals']))
    try {
      const { call, openapi } = await clientOf(gateway)
      const { accessToken: token } = await signIn({ call, mailTo: outboxOf(gateway) }, 'operator@demo.test')
      const body = { reason: 'under review' }
      const frozen = await call('POST', `/web/v1/system/workspaces/${workspace}/freeze`, { token, body })
      expect(frozen.status, frozen.text).toBe(200)
      expect(frozen.body.data.pending).toEqual({ transfers: 0 })
      const { pending } = JSON.parse(await openapi()).components.schemas.FreezeWorkspaceReply.properties
      expect([Object.keys(pending.properties), pending.required]).toEqual([['transfers'], undefined])
    } finally {
      await gateway.stop()
      await remove()
    }
  })

  test.each([
    [['wallets'], 'domains.wallets: cannot be off, because transfers uses it'],
    [['files'], 'domains.files: cannot be off, because recharges uses it'],
    [['members'], 'domains.members: cannot be off, because the gateway needs it'],
    [['nothing'], 'domains.nothing: no domain has this name'],
  ])('config check with %j off: names what depends on it, exit code 2', async (names, error) => {
    const checked = await runCli(['config', 'check'], off(names))
    expect([checked.code, checked.err]).toEqual([2, expect.stringContaining(error)])
  })
})
