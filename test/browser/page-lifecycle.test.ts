import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { order, pair, transfer, wallet } from '../client/fixtures.ts'
import { ok, refuse, type ScriptedGateway, type Step, scriptedGateway } from '../client/scripted-gateway.ts'
import { needs } from '../harness/needs.ts'
import { bundleClient, chromiumPath, hostApp, launchChromium, openPage, storageArrived } from './chromium.ts'

const key = 'portico:CONSUMER:tokens'
const wallets = 'GET /web/v1/consumer/wallets'
const refresh = 'POST /web/v1/consumer/auth/token/refresh'
const create = 'POST /web/v1/consumer/transfer/command/create'
const upload = 'POST /web/v1/consumer/files/upload'

const never: Step = () => undefined
const forSecond: Step = (seen, response) => {
  const step = seen.headers.authorization === 'Bearer access-2' ? ok([wallet]) : refuse(401, 'ACCESS.TOKEN_INVALID')
  return step(seen, response)
}
function html(text: string, headers: Record<string, string> = {}): Step {
  return (_, response) => void response.writeHead(200, { 'content-type': 'text/html', ...headers }).end(text)
}

describe('the life cycle of a page in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let browser: Browser
  let context: BrowserContext
  let script: string
  let gateway: ScriptedGateway
  beforeAll(async () => {
    script = await bundleClient()
    browser = await launchChromium()
  })
  beforeEach(async () => {
    context = await browser.newContext()
  })
  afterEach(async () => {
    await context.close()
    await gateway?.close()
  })
  afterAll(() => browser?.close())

  /** All pages share one storage. */
  const open = async () => {
    const { page } = await openPage(context, await hostApp(context, gateway.baseUrl, script))
    const client = await page.evaluateHandle(() => {
      // A page can be offline for long on a slow machine.
      const retry = { attempts: 100, maxDelayMs: 1_000 }
      const options = { baseUrl: location.origin, portal: 'CONSUMER', accessCode: 'x', seal: 'none', retry } as const
      const events = { signedOut: 0 }
      const onSignedOut = () => void events.signedOut++
      return { events, api: globalThis.portico.createClient({ ...options, storage: localStorage, onSignedOut }) }
    })
    return { page, client }
  }
  const stored = (page: Page) => page.evaluate((name) => localStorage.getItem(name), key)

  test('an upload that the browser aborts on navigation fails as one without a response', async () => {
    gateway = await scriptedGateway({ [upload]: never })
    const { page, client } = await open()
    const codes = client.evaluate(({ api }) => {
      const body = new FormData()
      body.set('file', new Blob(['x']), 'x.txt')
      const calls = [api.uploadFile({ body }), api.uploadFile({ body, onProgress: () => undefined })]
      return Promise.all(calls.map((call) => call.then(String, (error) => error.code)))
    })
    await expect.poll(() => gateway.to('/upload').length).toBe(2)
    await page.evaluate(() => window.stop())
    expect(await codes).toEqual(['CLIENT.NETWORK', 'CLIENT.NETWORK'])
  })

  test("a call aborted in flight rejects with the caller's reason, by fetch and by XMLHttpRequest", async () => {
    gateway = await scriptedGateway({ [upload]: never, [wallets]: never })
    const { client } = await open()
    const ends = client.evaluate(({ api }) => {
      const body = new FormData()
      body.set('file', new Blob(['x']), 'x.txt')
      const caller = new AbortController()
      const signals = [caller.signal, AbortSignal.timeout(500)]
      setTimeout(() => caller.abort('enough'), 500)
      const calls = signals.flatMap((signal) =>
        [api.listWallets({ signal }), api.uploadFile({ body, signal, onProgress: () => undefined })].map((call) =>
          call.catch((error) => error === signal.reason && (error.name ?? error)),
        ),
      )
      return Promise.all(calls)
    })
    expect(await ends).toEqual(['enough', 'enough', 'TimeoutError', 'TimeoutError'])
  })

  test('tabs that resume after hours renew once between them, and none is signed out', async () => {
    gateway = await scriptedGateway({ [wallets]: forSecond, [refresh]: ok(pair('2')) })
    const first = await open()
    const tabs = [first, ...(await Promise.all([open(), open(), open()]))]
    await first.client.evaluate(({ api }, tokens) => api.session.adopt(tokens), pair('1', 0))
    await storageArrived(first.page, ...tabs.map(({ page }) => page))
    const sessions = await Promise.all(tabs.map(({ page }) => context.newCDPSession(page)))
    for (const session of sessions) await session.send('Page.setWebLifecycleState', { state: 'frozen' })
    for (const session of sessions) await session.send('Page.setWebLifecycleState', { state: 'active' })
    const seen = await Promise.all(
      tabs.map(({ client }) => client.evaluate(async ({ api, events }) => [(await api.listWallets()).length, events])),
    )
    expect(seen).toEqual(Array(4).fill([1, { signedOut: 0 }]))
    expect(gateway.to('/token/refresh')).toHaveLength(1)
  })

  test('a money command survives a short offline time under one request id, and the sign-in, too', async () => {
    gateway = await scriptedGateway({ [create]: ok(order), [wallets]: forSecond, [refresh]: ok(pair('2')) })
    const { page, client } = await open()
    await client.evaluate(({ api }, tokens) => api.session.adopt(tokens), pair('1'))
    await context.setOffline(true)
    expect(await client.evaluate(({ api }) => api.listWallets().catch((error) => error.code))).toBe('CLIENT.NETWORK')
    const created = client.evaluate(async ({ api }, body) => (await api.createTransfer({ body })).orderNo, transfer)
    await page.waitForTimeout(600)
    expect(gateway.seen).toEqual([])
    await context.setOffline(false)
    expect(await created).toBe('TR-1')
    expect(gateway.to('/create')).toHaveLength(1)
    expect(
      await client.evaluate(async ({ api, events }) => [(await api.listWallets()).length, events.signedOut]),
    ).toEqual([1, 0])
  })

  test('a page closed during a renewal leaves its tokens to the next one, which gets the successor', async () => {
    gateway = await scriptedGateway({
      [wallets]: forSecond,
      [refresh]: [never, ok(pair('2')), refuse(404, 'AUTH.SESSION_NOT_FOUND')],
    })
    const { page, client } = await open()
    await client.evaluate(({ api }, tokens) => api.session.adopt(tokens), pair('1'))
    await client.evaluate(({ api }) => void api.listWallets().catch(() => undefined))
    await expect.poll(() => gateway.to('/token/refresh').length).toBe(1)
    await page.close()
    const next = await open()
    const call = () =>
      next.client.evaluate(async ({ api, events }) => {
        const called = await api.listWallets().then(String, (error) => error.code)
        return [called, events.signedOut]
      })
    expect(await call()).toEqual(['[object Object]', 0])
    expect(gateway.to('/token/refresh').map(({ body }) => body)).toEqual(Array(2).fill({ refreshToken: 'refresh-1' }))
    await next.client.evaluate(({ api }, tokens) => api.session.adopt(tokens), pair('3'))
    expect(await call()).toEqual(['ACCESS.TOKEN_INVALID', 1])
    expect(await stored(next.page)).toBeNull()
  })

  test('another tab that clears the storage during a call signs out both; a new sign-in serves both', async () => {
    const cleared = Promise.withResolvers<void>()
    const delayed: Step = async (seen, response) => {
      await cleared.promise
      await ok(pair('2'))(seen, response)
    }
    gateway = await scriptedGateway({ [wallets]: forSecond, [refresh]: delayed })
    const [one, two] = [await open(), await open()]
    await one.client.evaluate(({ api }, tokens) => api.session.adopt(tokens), pair('1'))
    const called = one.client.evaluate(({ api }) => api.listWallets().then(String, (error) => error.code))
    await expect.poll(() => gateway.to('/token/refresh').length).toBe(1)
    await two.page.evaluate(() => localStorage.clear())
    await storageArrived(two.page, one.page)
    cleared.resolve()
    expect(await called).toBe('ACCESS.TOKEN_INVALID')
    expect(await one.client.evaluate(({ events }) => events.signedOut)).toBe(1)
    expect(await stored(one.page)).toBeNull()
    await two.client.evaluate(({ api }, tokens) => api.session.adopt(tokens), pair('2'))
    await storageArrived(two.page, one.page)
    for (const { client } of [one, two])
      expect(await client.evaluate(async ({ api }) => (await api.listWallets()).length)).toBe(1)
    const hashes = gateway
      .to('/wallets')
      .slice(-2)
      .map(({ headers }) => headers['x-client-hash'])
    expect(new Set(hashes).size).toBe(1)
  })

  test("a full storage: the renewed sign-in stays in the page's memory", async () => {
    gateway = await scriptedGateway({
      [wallets]: forSecond,
      [refresh]: ok({ ...pair('2'), refreshToken: 'r'.repeat(4_000) }),
    })
    const { page, client } = await open()
    await client.evaluate(({ api }, tokens) => api.session.adopt(tokens), pair('1'))
    await page.evaluate(() => {
      for (let size = 4_000_000; size >= 1; size = Math.floor(size / 2))
        for (let more = true, place = 0; more; place++)
          try {
            localStorage.setItem(`fill-${size}-${place}`, 'x'.repeat(size))
          } catch {
            more = false
          }
    })
    const twice = client.evaluate(async ({ api }) => [
      (await api.listWallets()).length,
      (await api.listWallets()).length,
    ])
    expect(await twice).toEqual([1, 1])
    expect(gateway.to('/token/refresh')).toHaveLength(1)
    expect(await stored(page)).toBeNull()
  })

  test('a sandboxed page without storage and locks is signed in for as long as it is open', async () => {
    const policy = { 'content-security-policy': 'sandbox allow-scripts' }
    const js: Step = (_, response) => void response.writeHead(200, { 'content-type': 'text/javascript' }).end(script)
    gateway = await scriptedGateway({
      'GET /sandboxed': html('<script src="/app.js"></script>', policy),
      'GET /app.js': js,
    })
    const { page } = await openPage(context, `${gateway.baseUrl}/sandboxed`)
    const seen = await page.evaluate(async (adopted) => {
      const storage = {
        getItem: (name: string) => localStorage.getItem(name),
        setItem: (name: string, value: string) => localStorage.setItem(name, value),
        removeItem: (name: string) => localStorage.removeItem(name),
      }
      const isForbidden = await navigator.locks.request('x', () => false).catch((error) => error.name)
      const options = { baseUrl: 'http://127.0.0.1:9', portal: 'CONSUMER', accessCode: 'x', storage } as const
      const client = globalThis.portico.createClient(options)
      const hash = await client.clientHash()
      await client.session.adopt(adopted)
      const tokens = await client.session.tokens()
      return { isForbidden, isSame: tokens?.clientHash === hash, accessToken: tokens?.accessToken }
    }, pair('1'))
    expect(seen).toEqual({ isForbidden: 'SecurityError', isSame: true, accessToken: 'access-1' })
  })
})
