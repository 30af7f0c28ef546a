import { once } from 'node:events'
import { createServer } from 'node:http'
import { gunzipSync } from 'node:zlib'
import express, { type ErrorRequestHandler } from 'express'
import request from 'supertest'
import { expect, it } from 'vitest'
import { createReferencePages } from '../../src/gateway/index.ts'
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
