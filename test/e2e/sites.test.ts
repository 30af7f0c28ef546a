import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Portico, startPortico } from '../harness/portico.ts'
import { sendRaw } from '../harness/raw.ts'
import { buildSite, load, type TestSite } from '../harness/site.ts'

const page = '<!doctype html><title>wallets</title><script>start()</script>'
const help = '<button onclick="start()">help</button>'
const app = 'console.log("app")'.repeat(100)

describe('a site', () => {
  let site: TestSite
  let operators: TestSite
  let portico: Portico
  beforeAll(async () => {
    site = buildSite({
      'index.html': page,
      '.env': 'SECRET=1',
      'assets/index-DiwrgTda.js': app,
      'assets/index-DiwrgTda.js.br': 'br',
      'assets/index-DiwrgTda.js.gz': 'gzipped',
      'help/index.html': help,
      'web/v1/consumer/profile': 'shadow',
      'openapi.json': 'shadow',
      'manifest.webmanifest': '{}',
      '.well-known/apple-app-site-association': '{}',
    })
    operators = buildSite({ 'index.html': 'operators' })
    portico = await startPortico({
      adjust: ({ portals }) => {
        portals.CONSUMER.site = { directory: site.directory }
        portals.CONSUMER.hosts = ['localhost', 'portal.example']
        portals.SYSTEM.site = { directory: operators.directory }
        portals.SYSTEM.hosts = ['ops.example']
      },
    })
  })
  afterAll(async () => {
    await portico?.stop()
    site.remove()
    operators.remove()
  })

  const get = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    load(portico.url, path, { host: 'portal.example', ...headers }, method)

  test('GET / 200: the page, with a strict policy and without caching', async () => {
    const { status, headers, text } = await get('/')
    expect([status, text]).toEqual([200, page])
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'strict-transport-security': expect.any(String),
    })
    const policy = headers['content-security-policy']
    expect(policy).toContain(`script-src 'self' 'sha256-${hash('sha256', 'start()', 'base64')}'`)
    expect(policy).not.toContain('unsafe')
  })

  test('GET 200: the host selects the portal, in any case and with any port', async () => {
    for (const host of ['ops.example', 'OPS.example', 'ops.example:8443'])
      expect((await get('/', { host })).text).toBe('operators')
    expect((await get('/', { host: 'localhost' })).text).toBe(page)
    const forwarded = await get('/', { 'x-forwarded-host': 'ops.example', forwarded: 'host=ops.example' })
    expect(forwarded.text).toBe(page)
  })

  test('GET 404 ROUTE.NOT_FOUND: no site has the host', async () => {
    for (const host of ['127.0.0.1', 'evil.example', 'portal.example.evil.example', 'portal.example.']) {
      const { status, text } = await get('/', { host })
      expect([host, status, JSON.parse(text).code]).toEqual([host, 404, 'ROUTE.NOT_FOUND'])
    }
  })

  test('GET 200: pages of the application are index.html, and a folder has its own', async () => {
    for (const path of ['/wallets', '/wallets/5/', '/wallets?x=1.2', '/%E5%8C%97', '/websites', '/docs2'])
      expect([path, (await get(path)).text]).toEqual([path, page])
    expect((await get('/help/')).text).toBe(help)
  })

  test('GET 404 ROUTE.NOT_FOUND: missing files, hidden files, and requests that do not accept a page', async () => {
    for (const path of ['/assets/old-DiwrgTda.js', '/wallets/a.png', '/.env', '/.git/config', '/a/.env', '/x//y'])
      expect([path, (await get(path)).status]).toEqual([path, 404])
    for (const accept of ['*/*', 'application/json', 'text/html;q=0, */*', ''])
      expect([accept, (await get('/wallets', { accept })).status]).toEqual([accept, 404])
  })

  test('GET 404 ROUTE.NOT_FOUND: unknown paths below the chains keep their envelope', async () => {
    for (const path of ['/web/v1/consumer/nothing', '/web', '/web/', '/api', '/API/v1/x', '/%77eb/v1/x', '/web?x']) {
      const { status, text } = await get(path)
      expect([path, status, JSON.parse(text).success]).toEqual([path, 404, false])
    }
    const { text } = await get('/web/v1/consumer/profile')
    expect(text).not.toContain('shadow')
    expect(JSON.parse((await get('/openapi.json')).text).openapi).toMatch(/^3\.1/)
    expect((await get('/docs')).text).toContain('swagger')
  })

  test('GET 404, or 400: no path leaves the folder', async () => {
    const base = site.directory.split('/').at(-1)
    for (const path of [
      '/../../etc/passwd',
      '/..%2f..%2fetc/passwd',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/assets/..%5c..%5cindex.html',
      `/../${base}/.env`,
      '/assets%2findex-DiwrgTda.js',
      '/index.html%00',
      '/%00',
      '/%ff',
      '/%',
      '//etc/passwd',
      '/assets/./index-DiwrgTda.js',
      '/assets/x/../index-DiwrgTda.js',
      `/${'a/'.repeat(4_000)}a.js`,
    ]) {
      const { status, text } = await get(path)
      expect([path, status]).toEqual([path, /^\/%(ff)?$/.test(path) ? 400 : 404])
      expect(text).not.toMatch(/root:|SECRET|console/)
    }
  })

  test('GET 400: an absolute URL of another host', async () => {
    const raw = await sendRaw(portico.url, 'GET http://ops.example/ HTTP/1.1\r\nHost: portal.example\r\n\r\n')
    expect(raw.text).not.toContain('operators')
  })

  test('GET 200: files with a hash in their name are cached for a year', async () => {
    const { headers, text } = await get('/assets/index-DiwrgTda.js')
    expect(text).toBe(app)
    expect(headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'cache-control': 'public, max-age=31536000, immutable',
      vary: 'Accept-Encoding',
    })
    expect((await get('/manifest.webmanifest')).headers['cache-control']).toBe('no-cache')
    expect((await get('/.well-known/apple-app-site-association')).headers['content-type']).toMatch(/^application\/json/)
  })

  test.each([
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0.1, gzip;q=0.9', 'gzip'],
    ['gzip;q=0.1, identity', undefined],
    ['*', 'br'],
    ['*;q=0', undefined],
    ['deflate', undefined],
    ['', undefined],
  ])('GET 200: Accept-Encoding %j gets %s', async (acceptEncoding, encoding) => {
    const { headers, text } = await get('/assets/index-DiwrgTda.js', { 'accept-encoding': acceptEncoding })
    expect(headers['content-encoding']).toBe(encoding)
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8')
    expect(text).toBe({ br: 'br', gzip: 'gzipped' }[encoding ?? ''] ?? app)
  })

  test('GET 304, 412, 206 and 416: conditional requests and ranges', async () => {
    const path = '/assets/index-DiwrgTda.js'
    const { headers } = await get(path)
    const etag = String(headers.etag)
    const cached = await get(path, { 'if-none-match': `"x", W/${etag}` })
    expect([cached.status, cached.text, cached.headers.etag]).toEqual([304, '', etag])
    expect(cached.headers['content-security-policy']).toBeDefined()
    expect((await get(path, { 'if-none-match': etag, 'accept-encoding': 'br' })).status).toBe(200)
    expect((await get(path, { 'if-match': '"x"' })).status).toBe(412)
    const part = await get(path, { range: 'bytes=0-6' })
    expect([part.status, part.text, part.headers['content-range']]).toEqual([206, 'console', 'bytes 0-6/1800'])
    expect((await get(path, { range: 'bytes=0-6', 'if-range': '"old"' })).status).toBe(200)
    expect((await get(path, { range: 'bytes=1800-' })).status).toBe(416)
    expect((await get(path, { range: 'pages=1' })).status).toBe(200)
  })

  test('HEAD 200: the headers of GET without a body', async () => {
    const [head, whole] = [await get('/wallets', {}, 'HEAD'), await get('/wallets')]
    expect([head.status, head.text]).toEqual([200, ''])
    expect(head.headers['content-length']).toBe(whole.headers['content-length'])
  })

  test('HEAD 200: ignores a range', async () => {
    for (const range of ['bytes=0-6', 'bytes=1800-']) {
      const { status, headers } = await get('/assets/index-DiwrgTda.js', { range }, 'HEAD')
      expect([range, status, headers['content-length']]).toEqual([range, 200, '1800'])
    }
  })

  test('POST 404 ROUTE.NOT_FOUND: other methods', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
      expect([method, (await get('/', {}, method)).status]).toEqual([method, 404])
  })

  test('GET 200: 1,000 requests at the same time, and downloads that end early', async () => {
    const path = '/assets/index-DiwrgTda.js'
    const statuses = await Promise.all(Array.from({ length: 1_000 }, async () => (await get(path)).status))
    expect(new Set(statuses)).toEqual(new Set([200]))
    for (let each = 0; each < 50; each++) {
      const aborted = new AbortController()
      const pending = fetch(portico.url + path, { signal: aborted.signal }).catch(() => undefined)
      aborted.abort()
      await pending
    }
    expect((await get('/')).status).toBe(200)
  })

  test('start: a warning names what the policy blocks', () => {
    const warnings = portico.log.filter(({ msg }) => msg === 'the content security policy blocks parts of a page')
    expect(warnings).toEqual([
      expect.objectContaining({ portal: 'CONSUMER', page: 'help/index.html', blocked: ['onclick of <button>'] }),
    ])
  })

  test('the log has one line without a query per file', async () => {
    await get('/wallets?secret=1')
    expect(portico.log.findLast(({ msg }) => msg === 'page')).toMatchObject({ page: '/wallets', status: 200 })
  })

  test('browserSessions.read 200: a page of a host can use the cookie of its portal only', async () => {
    const read = async (portal: string, origin?: string) => {
      const { status, text } = await load(portico.url, `/web/v1/${portal}/security/self`, {
        host: 'portal.example',
        'x-portal-access-code': `${portal}-dev`,
        'x-client-hash': 'a',
        'x-forwarded-proto': 'https',
        'cf-connecting-ip': '192.0.2.1',
        'cf-ray': 'a',
        'cf-ipcountry': 'DE',
        'x-request-id': 'a',
        'x-locale': 'en',
        'sec-fetch-site': 'same-origin',
        cookie: `portico-${portal}=${'A'.repeat(43)}`,
        ...(origin && { origin }),
      })
      return [status, JSON.parse(text).code]
    }
    const { port } = new URL(portico.settings.publicUrl)
    expect(await read('consumer')).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    expect(await read('consumer', `http://portal.example:${port}`)).toEqual([401, 'ACCESS.TOKEN_INVALID'])
    for (const origin of ['http://ops.example', `http://ops.example:${port}`, 'http://portal.example'])
      expect(await read('consumer', origin)).toEqual([403, 'ACCESS.ORIGIN_NOT_ALLOWED'])
    expect(await read('system')).toEqual([403, 'ACCESS.ORIGIN_NOT_ALLOWED'])
  })
})

describe('limits of a site', () => {
  test('GET 429 ACCESS.RATE_LIMITED: above ten times the limit of the address, which files do not use up', async () => {
    const { directory, remove } = buildSite({ 'index.html': page })
    const portico = await startPortico({
      variables: { PORTICO_RATE_LIMIT_SCALE: '1' },
      adjust: (settings) => {
        settings.limits.address = { limit: 5, windowMs: 60_000 }
        settings.portals.CONSUMER.site = { directory }
      },
    })
    try {
      const statuses = await Promise.all(Array.from({ length: 50 }, async () => (await load(portico.url, '/')).status))
      expect(new Set(statuses)).toEqual(new Set([200]))
      const { status, headers, text } = await load(portico.url, '/')
      expect([status, JSON.parse(text).code]).toEqual([429, 'ACCESS.RATE_LIMITED'])
      expect(headers['retry-after']).toBeDefined()
      expect((await load(portico.url, '/openapi.json')).status).toBe(200)
    } finally {
      await portico.stop()
      remove()
    }
  })
})
