import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fromOwnPage, openPage } from '../../harness/browser.ts'
import { runCli } from '../../harness/cli.ts'
import { client, data, newEmail, register } from '../../harness/identity.ts'
import { registerMerchant } from '../../harness/merchant.ts'
import { merchantCode } from '../../harness/merchant-portal.ts'
import { type Portico, startPortico } from '../../harness/portico.ts'
import { createStore } from '../../harness/store.ts'
import { enter, enterAsOperator, ofMerchant, type Person, startWithMerchant } from './world.ts'

const self = '/web/v1/users/self/security/sessions/config'
const stopped: Portico = {} as never
const lists = [
  ...['/accounts', '/operators', '/proposals', '/audit-log', '/workspaces', '/transfers', '/recharges', '/withdrawals'],
  ...['/api-keys', '/webhooks', '/events', '/ledger/invariants'],
]

/** A store whose gateway starts with the portal, without it, and with it again. */
let store: Awaited<ReturnType<typeof createStore>>
let person: Person
let cookie: string
let key: string
const pageEmail = newEmail()
let running: Portico = stopped
beforeAll(async () => {
  store = await createStore()
  running = await startWithMerchant({ variables: store.variables })
  const email = newEmail()
  await register(running, email, client(running, { chain: ofMerchant }))
  person = await enter(running, ofMerchant, email)
  await registerMerchant(running, pageEmail)
  cookie = (await openPage(running, pageEmail, 'merchant')).cookie
  key = data(await person.post('/api-keys', { apiKeyName: 'Till', permissionCodes: ['wallet:read'] })).secret
  await running.stop()
})
afterAll(() => store?.remove())

test('without the portal: the gateway starts, its credentials are refused, and operators still see and decide', async () => {
  const portico = await startPortico({ variables: store.variables })
  try {
    const call = (path: string, token: string) =>
      portico.call('GET', path, { token, headers: { 'x-client-hash': person.by.hash } })
    expect((await call(`${ofMerchant}/profile`, person.token)).status).toBe(404)
    expect((await call(self, person.token)).status).toBe(401)
    expect((await call('/web/v1/consumer/profile', person.token)).status).toBe(401)
    for (const path of ['/api/v1/consumer/wallets', '/web/v1/consumer/wallets']) {
      expect((await call(path, key)).status).toBe(401)
      expect((await call(path, person.token)).status).toBe(401)
    }
    for (const sent of [cookie, cookie.replace('merchant', 'consumer')]) {
      const headers = { ...fromOwnPage, cookie: sent }
      expect((await portico.call('GET', '/web/v1/consumer/profile', { headers })).status).toBe(401)
      expect((await portico.call('GET', self, { headers })).status).toBe(401)
    }
    const shared = { 'x-portal-access-code': merchantCode }
    expect((await portico.call('GET', '/web/v1/secure-channel/public-key', { headers: shared })).status).toBe(403)

    const operator = await enterAsOperator(portico)
    for (const path of lists) expect([path, (await operator.get(path)).status]).toEqual([path, 200])
    const found = data(await operator.get(`/accounts?accountEmail=${encodeURIComponent(person.email)}`))
    expect(found.items).toMatchObject([{ bizId: person.accountId, accountPortal: { code: 'MERCHANT' } }])
    expect((await operator.get('/accounts?accountPortal=MERCHANT')).status).toBe(400)
    const at = `/accounts/${person.accountId}`
    expect((await operator.get(at)).status).toBe(200)
    for (const [path, body] of [
      [`${at}/suspend`, { reason: 'Closed' }],
      [`${at}/reactivate`, undefined],
      [`${at}/sessions/terminate`, undefined],
      [`/workspaces/${person.workspace}/freeze`, { reason: 'Closed' }],
      [`/workspaces/${person.workspace}/unfreeze`, { reason: 'Open' }],
    ] as const) {
      const { status, text } = await operator.post(path, body)
      expect([path, status], text).toEqual([path, 200])
    }
    // The account has no second factor but its mail.
    const reset = await operator.post(`${at}/factors/reset`, { reason: 'Lost phone' })
    expect(reset.status, reset.text).toBe(409)
  } finally {
    await portico.stop()
  }
})

test('with the portal again: the password is as before, and so are the workspace and its members', async () => {
  const portico = await startWithMerchant({ variables: store.variables })
  try {
    const again = await enter(portico, ofMerchant, person.email)
    expect([again.accountId, again.workspace]).toEqual([person.accountId, person.workspace])
    expect(data(await again.get('/roles/members'))).toMatchObject({ items: [{ userBizId: person.accountId }] })
  } finally {
    await portico.stop()
  }
})

test('commands: --portal names the portal, an id needs none, and an account of a removed portal is shown', async () => {
  const portals = {
    MERCHANT: {
      ...{ prefix: 'merchant', code: 10010111, domains: 'all', accessCodes: [sha256(merchantCode)] },
      edge: { kind: 'direct', trustedProxies: ['127.0.0.1/32'] },
    },
  }
  const run = (args: string[], configuration: object = { portals }) =>
    runCli(args, configuration, { ...store.variables, DATABASE_URL: '' })
  const why = ['--reason', 'a test']
  const shown = await run(['account', 'show', person.email, '--portal', 'MERCHANT', '--json'])
  expect([shown.code, JSON.parse(shown.out)], shown.err).toMatchObject([
    0,
    { id: person.accountId, portal: 'MERCHANT' },
  ])
  const elsewhere = await run(['account', 'show', person.email])
  expect([elsewhere.code, elsewhere.err]).toEqual([
    1,
    expect.stringContaining('but on MERCHANT: add --portal MERCHANT'),
  ])
  expect((await run(['account', 'show', person.email, '--portal', 'OTHER'])).err).toContain(
    '--portal must be one of CONSUMER, SYSTEM, MERCHANT',
  )
  for (const command of ['suspend', 'reactivate']) {
    const { code, err } = await run(['account', command, person.email, '--portal', 'MERCHANT', ...why])
    expect([command, code], err).toEqual([command, 0])
  }
  const whitelist = await run(['whitelist', 'disable', '--email', person.email, '--portal', 'MERCHANT', ...why])
  expect(whitelist.err).toContain(`the whitelist of ${person.email} is not enabled`)
  for (const args of [
    ['account', 'show', person.accountId],
    ['account', 'suspend', person.accountId, ...why],
  ]) {
    const { code, err } = await run(args, {})
    expect([args, code], err).toEqual([args, 0])
  }
})

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
