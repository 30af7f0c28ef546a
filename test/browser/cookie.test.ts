import { createServer, type Server } from 'node:http'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { developmentIds } from '../../src/seed/development.ts'
import { needs } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { codeIn } from '../harness/sign-in.ts'
import { attacks } from './attacks.ts'
import { bundleClient, chromiumPath, hostApp, launchChromium, openPage } from './chromium.ts'

declare global {
  var signedInCode: () => Promise<string>
  var client: ReturnType<typeof createCookieClient>
}

const { workspace, mainUsd, savingsUsd } = developmentIds
const transfers = '/web/v1/consumer/transfer/command/create'
const attackHeaders = {
  'content-type': 'application/json',
  'x-portal-access-code': 'consumer-dev',
  'x-request-id': 'attack',
  'x-client-hash': 'attack',
  'x-locale': 'en',
  'x-forwarded-proto': 'https',
}

/** Runs in the page. */
function createCookieClient() {
  return globalThis.portico.createClient({
    baseUrl: location.origin,
    portal: 'CONSUMER',
    accessCode: 'consumer-dev',
    edgeHeaders: true,
    session: 'cookie',
  })
}

describe('a browser session in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let browser: Browser
  let context: BrowserContext
  let script: string
  let portico: Portico
  let gateway: string
  /** Serves an empty page to every name and port of the loopback address. */
  let elsewhere: Server
  let otherPort: number

  beforeAll(async () => {
    const port = await freePort()
    gateway = `http://127.0.0.1:${port}`
    portico = await startPortico({
      adjust: (settings) => {
        settings.listen.port = port
        settings.publicUrl = gateway
        settings.portals.CONSUMER.origins = ['https://listed.example']
      },
    })
    otherPort = await freePort()
    elsewhere = createServer((_, response) =>
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>elsewhere</title>'),
    ).listen(otherPort, '127.0.0.1')
    script = await bundleClient()
    browser = await launchChromium()
  })
  beforeEach(async () => {
    context = await browser.newContext()
    await context.exposeFunction('signedInCode', async () =>
      codeIn((await portico.mailTo('owner@demo.test', 'login-code')).text),
    )
  })
  afterEach(() => context.close())
  afterAll(async () => {
    await browser?.close()
    elsewhere?.close()
    await portico?.stop()
  })

  async function openApp(): Promise<Page> {
    const { page } = await openPage(context, await hostApp(context, gateway, script))
    await page.evaluate(`globalThis.client = (${createCookieClient.toString()})()`)
    return page
  }

  async function signIn(page: Page): Promise<void> {
    await page.evaluate(async () => {
      await globalThis.client.signIn({
        email: 'owner@demo.test',
        password: 'Portico-demo-2026',
        code: () => globalThis.signedInCode(),
      })
    })
  }

  const isSignedIn = (page: Page) => page.evaluate(async () => (await globalThis.client.session.read()).signedIn)

  const orders = async (page: Page) =>
    page.evaluate(async (workspaceId) => {
      const { items } = await globalThis.client.listTransfers({ workspaceId, query: { pageSize: 100 } })
      return items.length
    }, workspace)

  test('signs in, survives a reload, and ends in every tab immediately', async () => {
    const page = await openApp()
    await signIn(page)
    const again = await openApp()
    expect(await isSignedIn(again)).toBe(true)
    await again.evaluate(() => {
      globalThis.client.session.onChange(({ signedIn }) => {
        document.title = `signed in: ${signedIn}`
      })
    })
    await page.evaluate(() => globalThis.client.signOut())
    await expect.poll(() => again.title()).toBe('signed in: false')
    expect(await context.cookies()).toEqual([])
  })

  test('a script in the page finds no credential', async () => {
    const { page } = await openPage(context, await hostApp(context, gateway, script))
    await page.evaluate(() => {
      const found: string[] = []
      const original = globalThis.fetch
      globalThis.fetch = async (input, init) => {
        const response = await original(input, init)
        const headers = [...new Headers(init?.headers), ...response.headers]
        found.push(JSON.stringify(headers), await response.clone().text())
        return response
      }
      Object.assign(globalThis, { found })
    })
    await page.evaluate(`globalThis.client = (${createCookieClient.toString()})()`)
    await signIn(page)
    const seen: string = await page.evaluate(async () => {
      await globalThis.client.readProfile()
      const databases = await indexedDB.databases()
      return JSON.stringify([
        Object.entries(localStorage),
        Object.entries(sessionStorage),
        document.cookie,
        databases,
        await caches.keys(),
        Reflect.get(globalThis, 'found'),
      ])
    })
    const [cookie] = await context.cookies()
    expect(cookie).toMatchObject({ name: 'portico-consumer', httpOnly: true, sameSite: 'Strict', expires: -1 })
    expect(seen).toContain('owner@demo.test')
    expect(seen).not.toContain(cookie?.value)
    expect(seen).not.toMatch(/set-cookie|bearer|accessToken|refreshToken/i)
  })

  const body = JSON.stringify({
    sourceWalletBizId: mainUsd,
    targetWalletBizId: savingsUsd,
    amount: '1.00',
    currency: 'USD',
  })

  /** Another port is the same site, so the browser sends the cookie. */
  test.each([
    ['another port', '127.0.0.1'],
    ['another site', 'localhost'],
  ])('%s: forms, requests, images and frames do nothing', async (_, host) => {
    const page = await openApp()
    await signIn(page)
    const before = await orders(page)
    const attacker = await context.newPage()
    const answers: number[] = []
    attacker.on('response', (response) => {
      if (response.url().startsWith(gateway)) answers.push(response.status())
    })
    await attacker.goto(`http://${host}:${otherPort}/`)
    const target = { url: gateway + transfers, body, headers: attackHeaders, socket: null }
    for (const attack of Object.values(attacks))
      expect(await attacker.evaluate(`(${attack.toString()})(${JSON.stringify(target)})`)).toBeNull()
    await attacker.goto(`${gateway}/web/v1/consumer/profile`).catch(() => undefined)
    expect(answers.length).toBeGreaterThan(2)
    expect(answers.filter((status) => status < 400)).toEqual([])
    expect(await orders(page)).toBe(before)
    expect(await isSignedIn(page)).toBe(true)
  })

  test('a cookie that another port sets does not become the session', async () => {
    const attacker = await context.newPage()
    await attacker.goto(`http://127.0.0.1:${otherPort}/`)
    const planted = 'A'.repeat(43)
    await attacker.evaluate((value) => {
      // biome-ignore lint/suspicious/noDocumentCookie: an attack
      document.cookie = `portico-consumer=${value}; path=/`
    }, planted)
    const page = await openApp()
    await signIn(page)
    const cookies = await context.cookies()
    expect(cookies.map(({ value }) => value)).not.toContain(planted)
    expect(await isSignedIn(page)).toBe(true)
  })

  test('a client with another hash cannot use the cookie of the browser', async () => {
    const page = await openApp()
    await signIn(page)
    const refused = await page.evaluate(async () => {
      const thief = globalThis.portico.createClient({
        baseUrl: location.origin,
        portal: 'CONSUMER',
        accessCode: 'consumer-dev',
        edgeHeaders: true,
        session: 'cookie',
        clientHash: 'another-client',
      })
      return thief.readProfile().then(
        () => 'read',
        (error: unknown) => (error instanceof globalThis.portico.PorticoError ? error.code : 'fault'),
      )
    })
    expect(refused).toBe('ACCESS.TOKEN_INVALID')
    expect(await isSignedIn(page)).toBe(true)
  })

  test('tabs that send requests while the cookie changes stay signed in', async () => {
    const [one, two] = [await openApp(), await openApp()]
    await signIn(one)
    await context.exposeFunction('stepUpCode', async () =>
      codeIn((await portico.mailTo('owner@demo.test', 'step-up-code')).text),
    )
    const before = (await context.cookies())[0]?.value
    const reading = two.evaluate(async () => {
      const statuses: boolean[] = []
      for (let each = 0; each < 30; each++) statuses.push((await globalThis.client.session.read()).signedIn)
      return statuses
    })
    await one.evaluate(async () => {
      await globalThis.client.sendStepUpCode({ body: { mfaMethod: 'EMAIL' } })
      const code: string = await Reflect.get(globalThis, 'stepUpCode')()
      await globalThis.client.stepUp({ body: { mfaMethod: 'EMAIL', code } })
    })
    expect(new Set(await reading)).toEqual(new Set([true]))
    expect((await context.cookies())[0]?.value).not.toBe(before)
    expect(await isSignedIn(one)).toBe(true)
  })
})
