import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { selfSigned } from '../harness/certificate.ts'
import { requiredHeaders } from '../harness/http.ts'
import { needs } from '../harness/needs.ts'
import { nginxIsInstalled, startNginx, type TestNginx } from '../harness/nginx.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { upstreamAt } from '../harness/settings.ts'
import { codeIn } from '../harness/sign-in.ts'
import { type SocketService, startSocketService } from '../harness/socket-service.ts'
import { type AttackTarget, attacks } from './attacks.ts'
import { bundleClient, chromiumPath, hostApp, launchChromium, openPage } from './chromium.ts'
import { watchPage } from './watch-page.ts'

const { workspace, mainUsd, savingsUsd } = developmentIds
const owner = 'owner@demo.test'
const name = '__Host-portico-consumer'
const planted = 'A'.repeat(43)

/** Runs in the page. */
function createCookieClient(clientHash: string) {
  return globalThis.portico.createClient({
    baseUrl: location.origin,
    portal: 'CONSUMER',
    accessCode: 'consumer-dev',
    session: 'cookie',
    clientHash,
  })
}

function proxyTo(port: number, gatewayPort: number, folder: string): string {
  return `
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${folder}/cert.pem;
    ssl_certificate_key ${folder}/key.pem;
    location / {
      proxy_pass http://127.0.0.1:${gatewayPort};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $http_connection;
      proxy_set_header X-Forwarded-Proto https;
      proxy_set_header CF-Connecting-IP 203.0.113.9;
      proxy_set_header cf-ipcountry DE;
      proxy_set_header Cf-Ray $request_id;
    }
  }`
}

const requirements = {
  ...needs(nginxIsInstalled(), 'nginx is not installed'),
  ...needs(chromiumPath, 'Chromium is not installed'),
}

describe('a portal with hostile names in its own domain', requirements, () => {
  let browser: Browser
  let context: BrowserContext
  let folder: string
  let script: string
  let portico: Portico
  let service: SocketService
  let nginx: TestNginx
  let attackers: Server
  let portal: string
  let attackerPort: number

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'portico-sub-domains-'))
    const certificate = selfSigned(folder, 'DNS:portal.test,DNS:*.portal.test,DNS:*.app.portal.test')
    const [port, gatewayPort] = [await freePort(), await freePort()]
    portal = `https://app.portal.test:${port}`
    service = await startSocketService()
    portico = await startPortico({
      adjust: (settings) => {
        settings.listen.port = gatewayPort
        settings.publicUrl = portal
        settings.operations = ['test/harness/ticker.yaml']
        settings.backends = { ...settings.backends, ticker: upstreamAt(service.url, { audience: 'ticker' }) }
      },
    })
    nginx = await startNginx({}, proxyTo(port, gatewayPort, folder))
    // Serves an empty page to every name, with the cookies of the query.
    attackers = createServer(certificate, (request, response) => {
      const cookies = new URL(request.url ?? '/', 'https://attacker').searchParams.getAll('set')
      const headers = { 'content-type': 'text/html', 'set-cookie': cookies }
      response.writeHead(200, headers).end('<!doctype html><title>attacker</title>')
    })
    attackerPort = await freePort()
    await once(attackers.listen(attackerPort, '127.0.0.1'), 'listening')
    script = await bundleClient()
    browser = await launchChromium({ hosts: ['portal.test', '*.portal.test'] })
  })
  beforeEach(async () => {
    context = await browser.newContext({ ignoreHTTPSErrors: true, permissions: ['local-network-access'] })
  })
  afterEach(() => context.close())
  afterAll(async () => {
    await browser?.close()
    attackers?.close()
    await nginx?.stop()
    await portico?.stop()
    await service?.close()
    await rm(folder, { recursive: true, force: true })
  })

  const codeFor = async (template: 'login-code' | 'step-up-code', email = owner) =>
    codeIn((await portico.mailTo(email, template)).text)

  async function openApp(clientHash = 'browser'): Promise<Page> {
    const { page } = await openPage(context, await hostApp(context, portal, script))
    await page.evaluate(`globalThis.client = (${createCookieClient.toString()})(${JSON.stringify(clientHash)})`)
    return page
  }

  async function signIn(page: Page, email = owner): Promise<void> {
    await page.exposeFunction('codeForSignIn', () => codeFor('login-code', email))
    await page.evaluate(async (email) => {
      const code: () => Promise<string> = Reflect.get(globalThis, 'codeForSignIn')
      await globalThis.client.signIn({ email, password: 'Portico-demo-2026', code })
    }, email)
  }

  const stateOf = (page: Page) => page.evaluate(() => globalThis.client.session.read())
  /** The email address of the account that the cookie signs in, or the refusal. */
  const whoAmI = (page: Page): Promise<string> =>
    page.evaluate(async () => {
      try {
        return (await globalThis.client.readProfile()).accountEmail
      } catch (error) {
        return error instanceof globalThis.portico.PorticoError ? error.code : String(error)
      }
    })
  const orders = (page: Page) =>
    page.evaluate(async (workspaceId) => {
      const { items } = await globalThis.client.listTransfers({ workspaceId, query: { pageSize: 100 } })
      return items.length
    }, workspace)

  /** The driver shows `__Host-` after a byte that is not UTF-8 as the prefix, but such a cookie has a domain. */
  const sessionCookies = async () =>
    (await context.cookies(portal)).filter((cookie) => cookie.name === name && cookie.domain === 'app.portal.test')

  async function openAttacker(host: string, setCookies: readonly string[] = []): Promise<Page> {
    const page = await context.newPage()
    const query = new URLSearchParams(setCookies.map((cookie) => ['set', cookie]))
    await page.goto(`https://${host}:${attackerPort}/?${query}`)
    return page
  }

  async function targetOf(page: Page, path: string, body: unknown): Promise<AttackTarget> {
    const protocols = await page.evaluate(
      (workspaceId) => globalThis.client.socketProtocols({ workspaceId }),
      workspace,
    )
    return {
      url: portal + path,
      body: JSON.stringify(body),
      headers: { ...requiredHeaders(), 'x-client-hash': 'browser', 'content-type': 'application/json' },
      socket: { url: `${portal.replace('https', 'wss')}/web/v1/consumer/ticker`, protocols },
    }
  }

  /** Returns the statuses of the gateway's responses. The driver answers preflights, so the gateway gets all headers. */
  async function attackFrom(host: string, target: AttackTarget): Promise<number[]> {
    const attacker = await openAttacker(host)
    const before = portico.log.length
    for (const [kind, attack] of Object.entries(attacks))
      expect([kind, await attacker.evaluate(`(${attack.toString()})(${JSON.stringify(target)})`)]).toEqual([kind, null])
    await attacker.evaluate(({ url, body }) => {
      const form = Object.assign(document.createElement('form'), { action: url, method: 'post', enctype: 'text/plain' })
      form.append(Object.assign(document.createElement('input'), { name: body.slice(0, -1), value: '"x"}' }))
      document.body.append(form)
      form.submit()
    }, target)
    await attacker.waitForURL(target.url)
    await attacker.goto(target.url)
    await attacker.close()
    return portico.log.slice(before).flatMap(({ status }) => (typeof status === 'number' ? [status] : []))
  }

  const hosts = ['evil.app.portal.test', 'evil.portal.test', 'portal.test']
  const transfer = {
    sourceWalletBizId: mainUsd,
    targetWalletBizId: savingsUsd,
    amount: '1.00',
    currency: 'USD',
  }

  test.each(hosts)('%s: forms, requests, navigations, frames, streams and sockets do nothing', async (host) => {
    const page = await openApp()
    await signIn(page)
    const before = await orders(page)
    const sockets = service.handshakes.length
    for (const [path, body] of [
      ['/web/v1/consumer/transfer/command/create', transfer],
      ['/web/v1/consumer/profile', {}],
      ['/web/v1/consumer/auth/browser-session', { sessionId: planted, mfaMethod: 'EMAIL', code: '123456' }],
      ['/web/v1/consumer/auth/browser-session/end', {}],
    ] as const) {
      const statuses = await attackFrom(host, await targetOf(page, path, body))
      expect(statuses.length).toBeGreaterThan(9)
      expect(statuses.filter((status) => status < 400)).toEqual([])
    }
    expect(portico.log.filter(({ operation }) => operation === 'ticker.follow').at(-1)).toMatchObject({
      code: 'ACCESS.ORIGIN_NOT_ALLOWED',
    })
    expect(service.handshakes.length).toBe(sockets)
    expect(await orders(page)).toBe(before)
    expect(await whoAmI(page)).toBe(owner)
  })

  /** Cookies that a sub-domain can try to give the portal. */
  const tossed = (value: string, path = '/') =>
    [
      name,
      'portico-consumer',
      '__host-portico-consumer',
      '__HOST-PORTICO-CONSUMER',
      `${name}\u00a0`,
      `\u00a0${name}`,
      `${name}\t`,
      `\t${name}`,
      `${name}\u2028`,
      `=${name}`,
      `x=${name}`,
      '__Secure-portico-consumer',
    ].map((each) => `${each}=${value}; Domain=portal.test; Path=${path}; Secure`)

  test.each(['/', '/web/v1/consumer', '/web/v1/consumer/profile'])(
    'cookies that a sub-domain sets below %s do not change the session',
    async (path) => {
      const page = await openApp()
      await signIn(page)
      const [cookie] = await sessionCookies()
      const attacker = await openAttacker('evil.app.portal.test')
      await attacker.evaluate(
        (cookies) => {
          // biome-ignore lint/suspicious/noDocumentCookie: an attack
          for (const each of cookies) document.cookie = each
        },
        tossed(planted, path),
      )
      const latin = tossed(planted, path).filter((each) => !each.includes('\u2028'))
      await openAttacker('portal.test', latin)
      const received = await context.cookies(`${portal}/web/v1/consumer/profile`)
      expect(received.filter(({ value }) => value === planted).length).toBeGreaterThan(1)
      expect(await sessionCookies()).toEqual([cookie])
      expect(await whoAmI(page)).toBe(owner)
      expect(await stateOf(page)).toMatchObject({ signedIn: true })
    },
  )

  test("a sub-domain cannot exchange the session for the attacker's, before the sign-in or after it", async () => {
    const page = await openApp()
    await signIn(page, 'member@demo.test')
    const [foreign] = await sessionCookies()
    if (!foreign) return expect.fail('no cookie')
    await context.clearCookies()
    await openAttacker('evil.app.portal.test', tossed(foreign.value).slice(0, 8))
    const victim = await openApp()
    expect(await whoAmI(victim)).toBe('ACCESS.TOKEN_MISSING')
    await signIn(victim)
    await openAttacker('evil.portal.test', tossed(foreign.value, '/web/v1/consumer').slice(0, 8))
    expect(await whoAmI(victim)).toBe(owner)
    expect((await sessionCookies()).map(({ value }) => value)).not.toContain(foreign.value)
  })

  test('a cookie that is in the browser before the sign-in is not adopted', async () => {
    await context.addCookies([{ name, value: planted, url: portal, secure: true, httpOnly: true, sameSite: 'Strict' }])
    const page = await openApp()
    expect(await stateOf(page)).toEqual({ signedIn: false })
    await signIn(page)
    const [cookie, ...others] = await sessionCookies()
    expect([cookie?.value === planted, others]).toEqual([false, []])
    expect(await whoAmI(page)).toBe(owner)
  })

  test('a sub-domain that fills the cookie jar signs the user out, and nobody else in', async () => {
    const page = await openApp()
    await signIn(page)
    const attacker = await openAttacker('evil.app.portal.test')
    await attacker.evaluate((value) => {
      for (let each = 0; each < 400; each++) {
        // biome-ignore lint/suspicious/noDocumentCookie: an attack
        document.cookie = `c${each}=${each}; Domain=portal.test; Secure; Max-Age=60`
      }
      // biome-ignore lint/suspicious/noDocumentCookie: an attack
      document.cookie = `__Host-portico-consumer=${value}; Domain=portal.test; Path=/; Secure`
    }, planted)
    await expect.poll(sessionCookies).toEqual([])
    expect(await whoAmI(page)).toBe('ACCESS.TOKEN_MISSING')
    await signIn(await openApp())
    expect((await sessionCookies()).length).toBe(1)
  })

  test('no call of a tab fails while another tab steps up', async () => {
    const [one, two] = [await openApp(), await openApp()]
    await signIn(one)
    await one.exposeFunction('codeForStepUp', () => codeFor('step-up-code'))
    const before = await sessionCookies()
    const calls = two.evaluate(async () => {
      const emails: string[] = []
      for (let each = 0; each < 20; each++) emails.push((await globalThis.client.readProfile()).accountEmail)
      return emails
    })
    await one.evaluate(async () => {
      await globalThis.client.sendStepUpCode({ body: { mfaMethod: 'EMAIL' } })
      const code: string = await Reflect.get(globalThis, 'codeForStepUp')()
      await globalThis.client.stepUp({ body: { mfaMethod: 'EMAIL', code } })
    })
    expect(await calls).toEqual(Array(20).fill(owner))
    expect((await sessionCookies())[0]?.value).not.toBe(before[0]?.value)
    expect(await whoAmI(two)).toBe(owner)
  })

  test('a script that replaces the functions of the page before the client loads finds no credential', async () => {
    await context.addInitScript(watchPage)
    const page = await openApp()
    await signIn(page)
    const [first] = await sessionCookies()
    await page.exposeFunction('codeForStepUp', () => codeFor('step-up-code'))
    const seen: string = await page.evaluate(async (workspaceId) => {
      const { client } = globalThis
      await client.session.read({ workspaceId })
      client.session.onChange(() => undefined)
      await client.sendStepUpCode({ body: { mfaMethod: 'EMAIL' } })
      const code: string = await Reflect.get(globalThis, 'codeForStepUp')()
      await client.stepUp({ body: { mfaMethod: 'EMAIL', code } })
      await client.readProfile({ seal: true })
      const body = new FormData()
      body.set('purpose', 'DOCUMENT')
      body.set('file', new Blob(['%PDF-1.7\n'], { type: 'application/pdf' }), 'contract.pdf')
      await client.uploadFile({ workspaceId, body, onProgress: () => undefined })
      const socket = new WebSocket(
        `wss://${location.host}/web/v1/consumer/ticker`,
        await client.socketProtocols({ workspaceId }),
      )
      await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }))
      socket.close()
      return JSON.stringify([
        Reflect.get(globalThis, 'seenByScript'),
        Object.entries(localStorage),
        Object.entries(sessionStorage),
        document.cookie,
        await cookieStore.getAll(),
        await indexedDB.databases(),
        await caches.keys(),
        await navigator.serviceWorker.getRegistrations(),
        performance.getEntries(),
        [document.documentElement.outerHTML, window.name, history.state, location.href],
      ])
    }, workspace)
    const [second] = await sessionCookies()
    expect(second?.value).not.toBe(first?.value)
    for (const each of ['fetch', 'xhr', 'WebSocket', 'BroadcastChannel', 'Headers', 'JSON.parse', 'storage'])
      expect([each, seen.includes(`"${each}"`)]).toEqual([each, true])
    expect(seen).toContain(owner)
    for (const cookie of [first, second]) expect(seen).not.toContain(cookie?.value)
    expect(seen).not.toMatch(/set-cookie|bearer|accessToken|refreshToken|portico-consumer/i)
  })
})
