import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApiClient, createClient } from '../../src/client/index.ts'
import { settingsThatNeedRestart } from '../../src/config/index.ts'
import { fromOwnPage, openPage } from '../harness/browser.ts'
import { addMerchant, callAsMerchant, registerMerchant, signInMerchant } from '../harness/merchant.ts'
import { merchant, merchantCode } from '../harness/merchant-portal.ts'
import { encodeMultipart, pdf } from '../harness/multipart.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { testSettings } from '../harness/settings.ts'
import { codeIn, signIn, stepUp } from '../harness/sign-in.ts'
import { buildSite, load, type TestSite } from '../harness/site.ts'
import { createStore } from '../harness/store.ts'

const email = 'owner@merchant.test'
const [ofMerchant, ofConsumer] = ['/web/v1/merchant', '/web/v1/consumer']

describe('a portal that the configuration declares', () => {
  let portico: Portico
  let site: TestSite
  let token: string
  let consumerToken: string
  let operatorToken: string
  let workspace: string
  beforeAll(async () => {
    site = buildSite({ 'index.html': '<!doctype html><title>merchants</title>' })
    portico = await startPortico({
      adjust: (settings) => {
        addMerchant(settings, {
          hosts: ['merchant.example'],
          site: { directory: site.directory },
          origins: ['https://shop.example'],
          limits: { groups: { reveal: { account: { limit: 7, windowMs: 60_000 } } } },
        })
      },
    })
    await registerMerchant(portico, email)
    token = (await signInMerchant(portico, email)).accessToken
    const mine = await callAsMerchant(portico, 'GET', `${ofMerchant}/workspaces/mine`, { token })
    workspace = mine.body.data[0].workspaceBizId
    consumerToken = (await signIn(portico)).accessToken
    operatorToken = (await signIn(portico, 'operator@demo.test')).accessToken
  })
  afterAll(async () => {
    await portico?.stop()
    site.remove()
  })

  test('profile.read 200: people register and sign in there, and the coded value names the portal', async () => {
    const { status, body } = await callAsMerchant(portico, 'GET', `${ofMerchant}/profile`, { token })
    const accountPortal = {
      code: 'MERCHANT',
      value: 10010111,
      label: 'Merchant portal',
      description: 'Merchant portal',
    }
    expect([status, body.data.accountEmail, body.data.accountPortal]).toEqual([200, email, accountPortal])
  })

  test('wallets.list 200: the account has its own workspace', async () => {
    const { status } = await callAsMerchant(portico, 'GET', `${ofMerchant}/wallets`, { token, workspace })
    expect(status).toBe(200)
  })

  test('auth.loginInitiate 200: one address can have an account at each portal', async () => {
    await registerMerchant(portico, 'owner@demo.test')
    const session = await signInMerchant(portico, 'owner@demo.test')
    const own = await callAsMerchant(portico, 'GET', `${ofMerchant}/profile`, { token: session.accessToken })
    const other = await portico.call('GET', `${ofConsumer}/profile`, { token: consumerToken })
    expect(own.body.data.accountEmail).toBe(other.body.data.accountEmail)
    expect(own.body.data.bizId).not.toBe(other.body.data.bizId)
  })

  test('401 ACCESS.TOKEN_INVALID: a token is valid at its own portal only, on all chains', async () => {
    const refused = async (path: string, tokenOf: string, code: string | null) => {
      const headers = { 'x-portal-access-code': code }
      const { status, body } = await portico.call('GET', path, { token: tokenOf, headers, workspace })
      return [path, status, body.code]
    }
    for (const [path, other, code] of [
      [`${ofMerchant}/profile`, consumerToken, merchantCode],
      [`${ofMerchant}/profile`, operatorToken, merchantCode],
      [`${ofConsumer}/profile`, token, 'consumer-dev'],
      ['/web/v1/system/profile', token, 'system-dev'],
      ['/api/v1/merchant/wallets', consumerToken, null],
      ['/api/v1/consumer/wallets', token, null],
    ] as const)
      expect(await refused(path, other, code)).toEqual([path, 401, 'ACCESS.TOKEN_INVALID'])
  })

  test('sessions.selfConfig 200: the token determines the portal', async () => {
    const read = (own: string) => portico.call('GET', '/web/v1/users/self/security/sessions/config', { token: own })
    expect([(await read(token)).status, (await read(consumerToken)).status]).toEqual([200, 200])
  })

  test('403 ACCESS.PORTAL_MISMATCH: an access code is valid at its own portal only', async () => {
    const codes = { [ofMerchant]: merchantCode, [ofConsumer]: 'consumer-dev', '/web/v1/system': 'system-dev' }
    for (const path of Object.keys(codes))
      for (const [owner, code] of Object.entries(codes)) {
        const { status, body } = await portico.call('GET', `${path}/secure-channel/public-key`, {
          headers: { 'x-portal-access-code': code },
        })
        expect([path, owner, status, body.code]).toEqual(
          owner === path ? [path, owner, 200, '2000'] : [path, owner, 403, 'ACCESS.PORTAL_MISMATCH'],
        )
      }
  })

  test('a browser session has the cookie of its portal, and other portals ignore it', async () => {
    const { cookie } = await openPage(portico, email, 'merchant')
    expect(cookie).toMatch(/^portico-merchant=[\w-]{43}$/)
    const read = async (path: string, sent: string, headers: Record<string, string> = {}) =>
      (await portico.call('GET', `${path}/profile`, { headers: { ...fromOwnPage, cookie: sent, ...headers } })).status
    expect(await read(ofMerchant, cookie)).toBe(200)
    // The cookie of another portal is none, and its value under another name is unknown.
    expect(await read(ofConsumer, cookie)).toBe(401)
    expect(await read(ofConsumer, cookie.replace('merchant', 'consumer'))).toBe(401)
    expect(
      await read('/web/v1/system', cookie.replace('merchant', 'system'), { 'x-portal-access-code': 'system-dev' }),
    ).toBe(401)
    const ofOthers = { host: 'merchant.example' }
    expect((await load(portico.url, `${ofConsumer}/profile`, { ...fromOwnPage, ...ofOthers, cookie })).status).toBe(403)
  })

  test('an API key is valid only at its portal', async () => {
    await stepUp(portico, token, email, { 'x-portal-access-code': merchantCode }, 'merchant')
    const body = { apiKeyName: 'Till', permissionCodes: ['wallet:read'] }
    const created = await callAsMerchant(portico, 'POST', `${ofMerchant}/api-keys`, { token, workspace, body })
    expect(created.status, created.text).toBe(200)
    const { secret } = created.body.data
    const read = async (path: string) => {
      const answer = await portico.call('GET', `${path}/wallets`, { token: secret })
      return [answer.status, answer.body.code]
    }
    expect(await read('/api/v1/merchant')).toEqual([200, '2000'])
    expect(await read('/api/v1/consumer')).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    expect(await read('/web/v1/merchant')).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    const machine = createApiClient({ baseUrl: portico.url, apiKey: secret, mount: merchant })
    expect(await machine.listWallets()).toEqual(expect.any(Array))
  })

  test('files.link 200: the link is below the prefix of the portal, and opens the file', async () => {
    const page = await openPage(portico, email, 'merchant')
    const { headers, body } = encodeMultipart([
      { name: 'file', content: pdf(1_000), fileName: 'contract.pdf', type: 'application/pdf' },
      { name: 'purpose', content: 'DOCUMENT' },
    ])
    const uploaded = await page.call('POST', '/files/upload', { workspace, headers, body })
    const linked = await page.call('POST', `/files/${uploaded.body.data.bizId}/link`, { workspace })
    const { url } = linked.body.data
    expect(url).toMatch(/^\/web\/v1\/merchant\/files\//)
    const opened = await fetch(portico.url + url, { headers: { ...fromOwnPage, cookie: page.cookie } })
    expect([opened.status, (await opened.arrayBuffer()).byteLength]).toEqual([200, 1_000])
  })

  test('createClient: the client of the portal signs in and reads the workspace', async () => {
    const client = createClient({
      ...{ baseUrl: portico.url, portal: 'CONSUMER', mount: merchant, accessCode: merchantCode },
      edgeHeaders: { clientIp: '203.0.113.7', country: 'DE' },
    })
    const code = async () => codeIn((await portico.mailTo(email, 'login-code')).text)
    await client.signIn({ email, password: 'Portico-demo-2026', code })
    expect((await client.readProfile()).accountEmail).toBe(email)
    await client.signOut()
  })

  test('createClient: operators have no other portal', () => {
    const options = { baseUrl: portico.url, portal: 'SYSTEM', mount: merchant, accessCode: merchantCode } as const
    expect(() => createClient(options)).toThrow(TypeError)
  })

  test('pages: the site is served under its host only, and its origins are those of the portal', async () => {
    expect((await load(portico.url, '/', { host: 'merchant.example' })).text).toContain('merchants')
    expect((await load(portico.url, '/', { host: 'localhost' })).status).not.toBe(200)
    const preflight = async (path: string) =>
      (
        await load(
          portico.url,
          `${path}/profile`,
          { origin: 'https://shop.example', 'access-control-request-method': 'GET' },
          'OPTIONS',
        )
      ).headers['access-control-allow-origin']
    expect([await preflight(ofMerchant), await preflight(ofConsumer)]).toEqual(['https://shop.example', undefined])
  })

  test('GET /openapi.json describes one portal with ?portal, 400 for an unknown one', async () => {
    const read = (query: string) => load(portico.url, `/openapi.json${query}`)
    const { paths, components } = JSON.parse((await read('?portal=MERCHANT')).text)
    expect(Object.keys(paths)).toContain('/web/v1/merchant/wallets')
    expect(Object.keys(paths).filter((path) => /consumer|system/.test(path))).toEqual([])
    expect(Object.keys(components.securitySchemes)).toContain('portalAccessCode')
    expect(components.securitySchemes.sessionCookie.name).toBe('__Host-portico-merchant')
    const whole = JSON.parse((await read('')).text)
    expect(Object.keys(whole.paths).filter((path) => path.includes('merchant'))).toEqual([])
    const unknown = await read('?portal=OTHER')
    expect([unknown.status, unknown.text]).toEqual([400, 'portal: must be one of CONSUMER, SYSTEM, MERCHANT\n'])
  })

  test('GET 404 ROUTE.NOT_FOUND: another prefix is unknown, and a longer one, too', async () => {
    for (const path of ['/web/v1/merchants/profile', '/web/v1/MERCHANT/profile', '/api/v1/merchant2/wallets']) {
      const { status, body } = await portico.call('GET', path, { token })
      expect([path, status, body.code]).toEqual([path, 404, 'ROUTE.NOT_FOUND'])
    }
  })

  test('metrics: the sessions and approvals have the label of each portal, and no other', async () => {
    const text = await (await fetch(`${portico.operationsUrl}/metrics`)).text()
    const labels = [...text.matchAll(/portal="(\w+)"/g)].map(([, portal]) => portal)
    expect([...new Set(labels)].sort()).toEqual(['CONSUMER', 'MERCHANT', 'SYSTEM'])
  })
})

describe('a portal with a list of domains', () => {
  let portico: Portico
  let token: string
  beforeAll(async () => {
    portico = await startPortico({
      adjust: (settings) => {
        addMerchant(settings, { domains: ['profile', 'wallets', 'workspaces'] })
      },
    })
    await registerMerchant(portico, email)
    token = (await signInMerchant(portico, email)).accessToken
  })
  afterAll(() => portico?.stop())

  const outcome = async (method: string, path: string) => {
    const { status, body } = await callAsMerchant(portico, method, path, {
      token,
      body: method === 'POST' ? {} : undefined,
    })
    return [path, status, body.code]
  }

  test('200: it offers the domains of the list, sign-in, security and the own session', async () => {
    for (const path of ['/profile', '/workspaces/mine', '/security/mfa', '/security/sessions'])
      expect((await outcome('GET', ofMerchant + path)).slice(0, 2)).toEqual([ofMerchant + path, 200])
    expect((await outcome('GET', '/web/v1/users/self/security/sessions/config'))[1]).toBe(200)
  })

  test('404 ROUTE.NOT_FOUND: all other operations are like unknown paths, on each chain', async () => {
    for (const [method, path] of [
      ['POST', `${ofMerchant}/transfers`],
      ['GET', `${ofMerchant}/transfers`],
      ['GET', `${ofMerchant}/events/stream`],
      ['GET', `${ofMerchant}/constants/countries`],
      ['GET', '/api/v1/merchant/transfers'],
      ['GET', '/api/v1/merchant/events'],
      ['GET', `${ofMerchant}/unknown`],
    ] as const)
      expect(await outcome(method, path)).toEqual([path, 404, 'ROUTE.NOT_FOUND'])
    expect((await portico.call('GET', `${ofConsumer}/constants/countries`)).status).toBe(200)
  })

  test('GET /openapi.json?portal=MERCHANT describes only what the portal offers', async () => {
    const { paths, tags } = JSON.parse((await load(portico.url, '/openapi.json?portal=MERCHANT')).text)
    expect(Object.keys(paths).filter((path) => /transfers|exchanges|api-keys|webhooks/.test(path))).toEqual([])
    expect(Object.keys(paths)).toContain(`${ofMerchant}/auth/login/initiate`)
    expect(tags.map(({ name }: { name: string }) => name)).not.toContain('transfers')
  })
})

describe('a portal that the configuration no longer declares', () => {
  test('its accounts and tokens are refused, nothing is lost, and the gateway starts', async () => {
    let kept = ''
    const { variables, remove } = await createStore()
    try {
      const first = await startPortico({ variables, adjust: (settings) => addMerchant(settings) })
      await registerMerchant(first, email)
      kept = (await signInMerchant(first, email)).accessToken
      await first.stop()
      const second = await startPortico({ variables })
      const gone = await second.call('GET', `${ofMerchant}/profile`, { token: kept })
      expect([gone.status, gone.body.code]).toEqual([404, 'ROUTE.NOT_FOUND'])
      const own = await second.call('GET', '/web/v1/users/self/security/sessions/config', { token: kept })
      expect(own.status).toBe(401)
      const operator = (await signIn(second, 'operator@demo.test')).accessToken
      const listed = await second.call('GET', `/web/v1/system/accounts?accountEmail=${email}`, {
        token: operator,
        headers: { 'x-portal-access-code': 'system-dev' },
      })
      expect(listed.status, listed.text).toBe(200)
      await second.stop()
      const third = await startPortico({ variables, adjust: (settings) => addMerchant(settings) })
      expect((await callAsMerchant(third, 'GET', `${ofMerchant}/profile`, { token: kept })).status).toBe(200)
      await third.stop()
    } finally {
      await remove()
    }
  })
})

test('reload: the limits of the portal apply without a restart, and its other settings do not', () => {
  const running = testSettings({})
  addMerchant(running)
  const changed = testSettings({})
  addMerchant(changed, { limits: { address: { limit: 5, windowMs: 1_000 } } })
  expect(settingsThatNeedRestart(running, changed)).toEqual([])
  addMerchant(changed, { prefix: 'shops' })
  expect(settingsThatNeedRestart(running, changed)).toEqual(['portals.MERCHANT.prefix'])
  expect(settingsThatNeedRestart(running, testSettings({}))).toEqual(['portals.MERCHANT'])
})
