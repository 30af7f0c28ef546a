import { once } from 'node:events'
import { createServer } from 'node:http'
import { gunzipSync } from 'node:zlib'
import express, { type ErrorRequestHandler } from 'express'
import request from 'supertest'
import { describe, expect, it } from 'vitest'
import { createReferencePages, type DemoSignIn } from '../../src/gateway/index.ts'
import { sendRaw } from '../harness/raw.ts'

const document = { openapi: '3.1.1', info: { title: 'Portico', version: '1.0.0' } }
const app = express()
app.disable('x-powered-by').disable('etag')
app.use(createReferencePages(async () => document))
app.use((_request, response) => void response.status(404).send('elsewhere'))

const paths = [
  '/openapi.json',
  '/docs',
  '/docs/theme.js',
  '/docs/accessible.js',
  '/docs/dialog.js',
  '/docs/folded.js',
  '/docs/reference.js',
  '/docs/start.js',
  '/docs/portico.css',
  '/docs/swagger-ui.css',
  '/docs/swagger-ui-bundle.js',
]

it.each([...paths, '/docs/icon.png'])(
  '%s has its own content security policy and is revalidated by ETag',
  async (path) => {
    const first = await request(app).get(path).set('accept-encoding', 'identity')
    expect(first.status).toBe(200)
    const always = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-cache', vary: 'accept-encoding' }
    expect(first.headers).toMatchObject({
      ...always,
      etag: expect.stringMatching(/^"[\w-]{27}"$/),
      'content-security-policy': expect.stringContaining("script-src 'self';"),
    })
    expect(first.headers['content-security-policy']).not.toMatch(/unsafe-eval|script-src[^;]*unsafe-inline|https?:/)
    const again = await request(app)
      .get(path)
      .set('accept-encoding', 'identity')
      .set('if-none-match', first.headers.etag ?? '')
    const { etag, 'content-security-policy': policy } = first.headers
    expect(again.status).toBe(304)
    expect(again.headers).toMatchObject({ ...always, etag, 'content-security-policy': policy })
  },
)

it('serves the document, compressed for clients that accept it', async () => {
  const plain = await request(app).get('/openapi.json').set('accept-encoding', 'gzip;q=0')
  expect(plain.body).toEqual(document)
  expect(plain.headers['content-type']).toBe('application/json; charset=utf-8')
  const codingFor = async (accepted: string) =>
    (await request(app).get('/openapi.json').set('accept-encoding', accepted)).headers['content-encoding']
  expect(await Promise.all(['gzip; q=0.000 , br', 'gzip;q=0.5', 'br;q=0, gzip'].map(codingFor))).toEqual([
    undefined,
    'gzip',
    'gzip',
  ])
  const zipped = await request(app)
    .get('/openapi.json')
    .set('accept-encoding', 'br, gzip')
    .buffer(true)
    .parse((response, done) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => done(null, Buffer.concat(chunks)))
    })
  expect(zipped.headers['content-encoding']).toBe('gzip')
  expect(zipped.headers.etag).not.toBe(plain.headers.etag)
  const body: unknown = zipped.body
  const bytes = body instanceof Buffer && body[0] === 0x1f ? gunzipSync(body) : body
  expect(JSON.parse(String(bytes))).toEqual(document)
})

describe('/openapi.json?channel', () => {
  const built: boolean[] = []
  const documents = express().use(
    createReferencePages(async (isSealed) => {
      built.push(isSealed)
      return { ...document, isSealed }
    }),
  )

  it('sealed: the document with sealed bodies, built on its first request', async () => {
    const plain = await request(documents).get('/openapi.json')
    expect([plain.body.isSealed, built]).toEqual([false, [false]])
    const sealed = await request(documents).get('/openapi.json?channel=sealed')
    expect([sealed.status, sealed.body.isSealed, built]).toEqual([200, true, [false, true]])
    expect(sealed.headers.etag).not.toBe(plain.headers.etag)
    expect((await request(documents).get('/openapi.json?theme=dark')).body.isSealed).toBe(false)
  })

  it('any other value is 400 with the name of the parameter', async () => {
    for (const query of ['channel', 'channel=', 'channel=open', 'channel=sealed&channel=open']) {
      const refused = await request(documents).get(`/openapi.json?${query}`)
      expect([refused.status, refused.text], query).toEqual([400, 'channel: must be sealed\n'])
      expect(refused.headers['content-security-policy']).toContain("default-src 'none'")
    }
  })
})

it('304 for a matching ETag, in every form of If-None-Match', async () => {
  const revalidate = (known: string) =>
    request(app).get('/docs').set('accept-encoding', 'identity').set('if-none-match', known)
  const { etag = '' } = (await revalidate('"other"')).headers
  for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*'])
    expect([known, (await revalidate(known)).status]).toEqual([known, 304])
  expect((await revalidate('"other", W/"another"')).status).toBe(200)
})

it('passes every other path and method on to the chains', async () => {
  for (const path of ['/Docs', '/docs/', '/docs/../docs', '/docs/package.json', '/openapi.json/', '/'])
    expect((await request(app).get(path)).status, path).toBe(404)
  expect((await request(app).post('/docs')).status).toBe(404)
  const head = await request(app).head('/docs?theme=dark')
  expect([head.status, head.text]).toEqual([200, undefined])
})

it('is built again after a failure, then cached', async () => {
  const builders = [() => Promise.reject(new Error('a file that cannot be read')), async () => document]
  const fresh = express().use(createReferencePages(() => builders.shift()?.() ?? expect.fail()))
  fresh.use(((_error, _request, response, _next) => void response.status(500).end()) satisfies ErrorRequestHandler)
  const status = async () => (await request(fresh).get('/openapi.json')).status
  expect([await status(), await status(), await status()]).toEqual([500, 200, 200])
})

it('closes the connection after an announced but unsent body: nothing after it is a request', async () => {
  const server = createServer(app).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
  const { text } = await sendRaw(url, 'GET /docs/theme.js HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab')
  expect(text).toMatch(/^connection: close\r$/im)
  server.closeAllConnections()
  server.close()
})

it('loads nothing from another origin', async () => {
  const { text } = await request(app).get('/docs')
  expect(
    [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '').filter((url) => !url.startsWith('/')),
  ).toEqual([])
  expect(text).not.toMatch(/<script>|\son\w+=|style=/)
})

it('/ leads to /docs in development, and nowhere otherwise', async () => {
  const pages = (redirectsRoot: boolean) =>
    request(express().use(createReferencePages(async () => document, { redirectsRoot }))).get('/')
  const { status, headers } = await pages(true)
  expect([status, headers.location]).toEqual([302, '/docs'])
  expect((await pages(false)).status).toBe(404)
})

describe('the sign-in with demo accounts', () => {
  const demo: DemoSignIn = {
    accounts: [{ portal: 'CONSUMER', email: 'owner@demo.test' }],
    password: 'demo password',
    mailedCodes: async () => [{ to: 'owner@demo.test', code: '123456', at: '2026-03-02T09:30:00.000Z' }],
    allowedHosts: ['localhost'],
  }
  const development = express().use(createReferencePages(async () => document, { demo }))

  it('is absent without demo accounts: its files are 404, and no file names them', async () => {
    for (const path of ['/docs/demo.js', '/docs/demo.json', '/docs/demo-codes.json'])
      expect((await request(app).get(path)).status, path).toBe(404)
    for (const path of ['/docs', '/docs/start.js', '/docs/reference.js', '/docs/folded.js', '/docs/accessible.js'])
      expect((await request(app).get(path)).text, path).not.toMatch(/demo/)
  })

  it('has the accounts, and the codes that were mailed to them, under the same policy', async () => {
    const start = await request(development).get('/docs/start.js').buffer(true)
    expect(start.text).toContain('./demo.js')
    const accounts = await request(development).get('/docs/demo.json')
    expect(accounts.body).toEqual({ accounts: demo.accounts, password: demo.password })
    expect((await request(development).get('/docs/demo.js')).headers['content-security-policy']).toContain(
      "script-src 'self';",
    )
    const codes = await request(development).get('/docs/demo-codes.json')
    expect(codes.body).toEqual(await demo.mailedCodes())
    expect(codes.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      'cross-origin-resource-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
    expect(codes.headers).not.toHaveProperty('access-control-allow-origin')
  })

  it.each([
    ['localhost:8080', 200],
    ['127.0.0.1', 200],
    ['attacker.example', 421],
    ['', 421],
  ])('/docs/demo-codes.json under the host %j: %i', async (host, status) => {
    const response = await request(development).get('/docs/demo-codes.json').set('host', host)
    expect(response.status).toBe(status)
    expect(response.text.includes('123456')).toBe(status === 200)
  })

  it('responds to no other method, and to no other spelling', async () => {
    expect((await request(development).post('/docs/demo-codes.json')).status).toBe(404)
    expect((await request(development).get('/docs/Demo-codes.json')).status).toBe(404)
  })

  it('passes an error of the outbox on', async () => {
    const mailedCodes = () => Promise.reject(new Error('planted'))
    const failing = express().use(createReferencePages(async () => document, { demo: { ...demo, mailedCodes } }))
    failing.use(((_error, _request, response, _next) => void response.status(500).end()) satisfies ErrorRequestHandler)
    expect((await request(failing).get('/docs/demo-codes.json')).status).toBe(500)
  })
})
