import { createServer, type Server } from 'node:http'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { needs } from '../harness/needs.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { freePort } from '../harness/postgres.ts'
import { codeIn } from '../harness/sign-in.ts'
import { buildSite, type TestSite } from '../harness/site.ts'
import { bundleClient, chromiumPath, launchChromium, openPage } from './chromium.ts'

const html = `<!doctype html>\r
<meta charset="utf-8"><title>app</title>
<style>
  body { color: rgb(1, 2, 3) }
</style>
<script>
  globalThis.started = '\u5317'
</script>
<script src="/app-DiwrgTda.js"></script>
<body>app`

describe('a site in Chromium', needs(chromiumPath, 'Chromium is not installed'), () => {
  let browser: Browser
  let context: BrowserContext
  let portico: Portico
  let site: TestSite
  let elsewhere: Server
  let foreign: string
  let base: string

  beforeAll(async () => {
    const [port, otherPort] = [await freePort(), await freePort()]
    site = buildSite({ 'index.html': html, 'app-DiwrgTda.js': await bundleClient() })
    base = `http://localhost:${port}`
    portico = await startPortico({
      adjust: (settings) => {
        settings.listen.port = port
        settings.publicUrl = `http://127.0.0.1:${port}`
        settings.portals.CONSUMER.hosts = ['localhost']
        settings.portals.CONSUMER.site = { directory: site.directory }
        settings.portals.SYSTEM.hosts = ['ops.localhost']
        settings.portals.SYSTEM.site = { directory: site.directory, csp: { trustedTypes: true } }
      },
    })
    foreign = `http://127.0.0.1:${otherPort}/evil.js`
    elsewhere = createServer((_, response) =>
      response.writeHead(200, { 'content-type': 'text/javascript' }).end('globalThis.evil = true'),
    ).listen(otherPort, '127.0.0.1')
    browser = await launchChromium()
  })
  beforeEach(async () => {
    context = await browser.newContext()
  })
  afterEach(() => context.close())
  afterAll(async () => {
    await browser?.close()
    elsewhere?.close()
    await portico?.stop()
    site?.remove()
  })

  const openApp = async (path = '/'): Promise<{ page: Page; complaints: string[] }> => openPage(context, base + path)
  const read = (page: Page, name: string): Promise<unknown> =>
    page.evaluate((key) => Reflect.get(globalThis, key), name)

  test('inline scripts and styles of the build, and the bundle, run on every route', async () => {
    for (const path of ['/', '/wallets/5']) {
      const { page, complaints } = await openApp(path)
      expect(await read(page, 'started')).toBe('\u5317')
      expect(await page.evaluate(() => getComputedStyle(document.body).color)).toBe('rgb(1, 2, 3)')
      expect(await page.evaluate(() => typeof globalThis.portico.createClient)).toBe('function')
      expect(complaints).toEqual([])
    }
  })

  test('injected scripts, event handlers, styles, frames and forms are blocked', async () => {
    const { page } = await openApp()
    await page.evaluate(async (url) => {
      const inline = document.createElement('script')
      inline.textContent = 'globalThis.evil = true'
      const third = Object.assign(document.createElement('script'), { src: url })
      const blob = Object.assign(document.createElement('script'), {
        src: URL.createObjectURL(new Blob(['globalThis.evil = true'])),
      })
      const data = Object.assign(document.createElement('script'), { src: 'data:text/javascript,globalThis.evil=true' })
      document.body.append(inline, third, blob, data)
      document.body.insertAdjacentHTML('beforeend', '<img src="/missing.png" onerror="globalThis.evil = true">')
      document.body.insertAdjacentHTML('beforeend', '<style>body { color: red }</style>')
      document.body.insertAdjacentHTML('beforeend', `<iframe src="${url}"></iframe><base href="${url}">`)
      const form = Object.assign(document.createElement('form'), { action: url, method: 'post' })
      document.body.append(form)
      form.submit()
      await new Promise((resolve) => setTimeout(resolve, 500))
    }, foreign)
    expect(await read(page, 'evil')).toBeUndefined()
    expect(page.url()).toBe(`${base}/`)
    expect(await page.evaluate(() => getComputedStyle(document.body).color)).toBe('rgb(1, 2, 3)')
    const attempts = await page.evaluate(async (url) => {
      // The driver allows eval until this function has returned.
      const evaluated = await new Promise((resolve) => setTimeout(resolve, 50))
        .then(() => new Function('return 1')())
        .then(String, () => 'blocked')
      const fetched = await fetch(url).then(String, () => 'blocked')
      return [evaluated, fetched]
    }, foreign)
    expect(attempts).toEqual(['blocked', 'blocked'])
  })

  test('Trusted Types: text does not become HTML, and the client still works', async () => {
    const page = await context.newPage()
    await page.goto(base.replace('localhost', 'ops.localhost'))
    const outcome = await page.evaluate(async () => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      const client = globalThis.portico.createClient({ baseUrl: '/', portal: 'SYSTEM', accessCode: 'system-dev' })
      try {
        document.body.innerHTML = '<b>text</b>'
        return 'accepted'
      } catch {
        return typeof client.signIn
      }
    })
    expect(outcome).toBe('function')
  })

  test('no other page can show a page of the site in a frame', async () => {
    const outer = await context.newPage()
    await context.route('http://outer.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body: `<iframe src="${base}/"></iframe>` }),
    )
    await outer.goto('http://outer.example/')
    await expect.poll(() => outer.frames()[1]?.url()).toBe('chrome-error://chromewebdata/')
  })

  test('the page signs in with the cookie under a name of `hosts`, without `origins`', async () => {
    await context.exposeFunction('signedInCode', async () =>
      codeIn((await portico.mailTo('owner@demo.test', 'login-code')).text),
    )
    const { page, complaints } = await openApp('/sign-in')
    const before = await page.evaluate(async () => {
      const client = globalThis.portico.createClient({
        baseUrl: '/',
        portal: 'CONSUMER',
        accessCode: 'consumer-dev',
        edgeHeaders: true,
        session: 'cookie',
      })
      const code: () => Promise<string> = Reflect.get(globalThis, 'signedInCode')
      await client.signIn({ email: 'owner@demo.test', password: 'Portico-demo-2026', code })
      return (await client.listWallets()).length
    })
    expect(before).toBe(3)
    expect((await context.cookies(base)).map(({ name, domain }) => [name, domain])).toEqual([
      ['portico-consumer', 'localhost'],
    ])
    expect(complaints).toEqual([])
  })
})
