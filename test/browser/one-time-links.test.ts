import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { domain } from '../../src/api/domain.ts'
import { own } from '../../src/contract/policies.ts'
import { operation } from '../../src/kernel/index.ts'
import { needs } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { upstreamAt } from '../harness/settings.ts'
import { codeIn } from '../harness/sign-in.ts'
import { bundleClient, chromiumPath, launchChromium } from './chromium.ts'

declare global {
  var signedInCode: () => Promise<string>
  var client: ReturnType<typeof createCookieClient>
}

/** One pixel. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const clock = domain({
  name: 'clock',
  summary: 'Events of a clock.',
  operations: {
    watchClock: operation({
      id: 'clock.watch',
      method: 'GET',
      path: '/clock',
      chains: ['consumer'],
      summary: 'Watch the clock',
      policy: { ...own, channel: 'none' },
      body: 'none',
      reply: 'events',
      refuses: [],
    }),
  },
  create: () => ({ handlers: {} }),
})

/** Runs in the page. */
function createCookieClient(baseUrl: string) {
  return globalThis.portico.createClient({
    baseUrl,
    portal: 'CONSUMER',
    accessCode: 'consumer-dev',
    edgeHeaders: true,
    session: 'cookie',
  })
}

/** Each resolves with whether the page got what the URL opens. They run in the page. */
const elements = {
  image: (url: string) =>
    new Promise<boolean>((resolve) => {
      Object.assign(new Image(), { onload: () => resolve(true), onerror: () => resolve(false), src: url })
    }),
  stream: (url: string) =>
    new Promise<boolean>((resolve) => {
      const source = new EventSource(url, { withCredentials: true })
      source.onmessage = () => {
        source.close()
        resolve(true)
      }
      source.onerror = () => resolve(false)
    }),
}

describe('one-time links in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let browser: Browser
  let context: BrowserContext
  let script: string
  let portico: Portico
  let gateway: string
  /** Ends each stream after an event, so that EventSource reconnects. */
  let service: Server
  /** Serves the application on two ports, of which one is listed. */
  const pages: Server[] = []
  let listed: string
  let unlisted: string

  const servePage = async (): Promise<string> => {
    const port = await freePort()
    const server = createServer(({ url }, response) =>
      url === '/app.js'
        ? response.writeHead(200, { 'content-type': 'text/javascript' }).end(script)
        : response
            .writeHead(200, { 'content-type': 'text/html' })
            .end('<!doctype html><script src="/app.js"></script>'),
    ).listen(port, '127.0.0.1')
    await once(server, 'listening')
    pages.push(server)
    return `http://127.0.0.1:${port}`
  }

  beforeAll(async () => {
    script = await bundleClient()
    const port = await freePort()
    gateway = `http://127.0.0.1:${port}`
    ;[listed, unlisted] = [await servePage(), await servePage()]
    const servicePort = await freePort()
    service = createServer((_, response) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end('retry: 10\ndata: tick\n\n'),
    ).listen(servicePort, '127.0.0.1')
    portico = await startPortico({
      domains: [clock],
      adjust: (settings) => {
        settings.listen.port = port
        settings.publicUrl = gateway
        settings.portals.CONSUMER.origins = [listed]
        const audience = 'clock'
        settings.backends = { ...settings.backends, clock: upstreamAt(`http://127.0.0.1:${servicePort}`, { audience }) }
      },
    })
    browser = await launchChromium()
  })
  beforeEach(async () => {
    context = await browser.newContext({ permissions: ['local-network-access'] })
    await context.exposeFunction('signedInCode', async () =>
      codeIn((await portico.mailTo('owner@demo.test', 'login-code')).text),
    )
    const html = '<!doctype html><script src="/app.js"></script>'
    await context.route(`${gateway}/app`, (route) => route.fulfill({ contentType: 'text/html', body: html }))
    await context.route(`${gateway}/app.js`, (route) => route.fulfill({ contentType: 'text/javascript', body: script }))
  })
  afterEach(() => context.close())
  afterAll(async () => {
    await browser?.close()
    for (const server of [service, ...pages]) server?.close()
    await portico?.stop()
  })

  async function openApp(url = `${gateway}/app`): Promise<Page> {
    const page = await context.newPage()
    await page.goto(url)
    await page.evaluate(`globalThis.client = (${createCookieClient.toString()})(${JSON.stringify(gateway)})`)
    await page.evaluate(async () => {
      await globalThis.client.signIn({
        email: 'owner@demo.test',
        password: 'Portico-demo-2026',
        code: () => globalThis.signedInCode(),
      })
    })
    return page
  }

  const uploadImage = (page: Page) =>
    page.evaluate(async (base64) => {
      const body = new FormData()
      body.set('purpose', 'AVATAR')
      const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0))
      body.set('file', new Blob([bytes], { type: 'image/png' }), 'pixel.png')
      return (await globalThis.client.uploadFile({ body })).bizId
    }, png)

  const linkTo = async (page: Page, file_id: string) => {
    const { url } = await page.evaluate((id) => globalThis.client.linkFile({ params: { file_id: id } }), file_id)
    return gateway + url
  }

  const streamUrl = async (page: Page) => {
    const request = { body: { path: '/web/v1/consumer/clock' } }
    const { url } = await page.evaluate((input) => globalThis.client.createTicket(input), request)
    return gateway + url
  }

  const open = (page: Page, element: keyof typeof elements, url: string): Promise<boolean> =>
    page.evaluate(`(${elements[element].toString()})(${JSON.stringify(url)})`)

  test('<a download> saves the file; the same URL a second time is refused', async () => {
    const page = await openApp()
    const url = await linkTo(page, await uploadImage(page))
    const click = () =>
      page.evaluate((href) => Object.assign(document.createElement('a'), { href, download: '' }).click(), url)
    const [saved] = await Promise.all([page.waitForEvent('download'), click()])
    expect([saved.suggestedFilename(), await saved.failure()]).toEqual(['pixel.png', null])
    const again = page.waitForEvent('download')
    await click()
    expect(await (await again).failure()).not.toBeNull()
  })

  test('a link without the attribute downloads by navigation, and the page stays', async () => {
    const page = await openApp()
    const url = await linkTo(page, await uploadImage(page))
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.evaluate((href) => Object.assign(document.createElement('a'), { href }).click(), url),
    ])
    expect(await saved.failure()).toBeNull()
    expect(page.url()).toBe(`${gateway}/app`)
  })

  test('<img> shows the file once', async () => {
    const page = await openApp()
    const url = await linkTo(page, await uploadImage(page))
    expect(await open(page, 'image', url)).toBe(true)
    const other = await context.newPage()
    await other.goto(`${gateway}/app`)
    expect(await open(other, 'image', url)).toBe(false)
  })

  test('EventSource opens a stream; when it reconnects, it is refused and stays closed', async () => {
    const page = await openApp()
    expect(await open(page, 'stream', await streamUrl(page))).toBe(true)
    const seen = await page.evaluate(
      (url) =>
        new Promise<{ events: number; state: number }>((resolve) => {
          let events = 0
          const source = new EventSource(url)
          source.onmessage = () => {
            events += 1
          }
          source.onerror = () => {
            if (source.readyState === EventSource.CLOSED) resolve({ events, state: source.readyState })
          }
        }),
      await streamUrl(page),
    )
    expect(seen).toEqual({ events: 1, state: 2 })
  })

  test('a listed origin can use an image and EventSource, and any other origin neither', async () => {
    const page = await openApp(listed)
    const file = await uploadImage(page)
    expect(await open(page, 'image', await linkTo(page, file))).toBe(true)
    expect(await open(page, 'stream', await streamUrl(page))).toBe(true)
    const attacker = await context.newPage()
    await attacker.goto(unlisted)
    expect(await open(attacker, 'stream', await streamUrl(page))).toBe(false)
    const guessed = `${(await linkTo(page, file)).split('=')[0]}=${'A'.repeat(43)}`
    expect(await open(attacker, 'image', guessed)).toBe(false)
  })
})
