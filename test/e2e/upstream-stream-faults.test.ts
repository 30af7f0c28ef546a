import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Behaviour, json, rawResponse } from '../harness/raw-upstream.ts'
import { codeOf, file, type StreamsWorld, secret, startStreamsWorld } from './streams-world.ts'

describe('faults of upstream streams', () => {
  let world: StreamsWorld
  beforeAll(async () => {
    world = await startStreamsWorld()
  })
  beforeEach(() => world.resetTries())
  afterAll(() => world?.stop())

  const wide = { 'user-agent': 'é'.repeat(512) }
  const headAt = () =>
    world.upstream.received
      .filter((each) => /^(GET|POST) \/base/.test(each))
      .at(-1)
      ?.split('\r\n\r\n')[0] ?? ''

  test.each([
    ['If-None-Match', { 'if-none-match': 'a'.repeat(11_000) }],
    ['If-Range', { 'if-range': 'a'.repeat(11_000), range: 'bytes=0-0' }],
    ['Range', { range: `bytes=${'0-0,'.repeat(2_700)}1-1` }],
  ])('files.download 200: %s is dropped if it is too long for an upstream', async (_name, fields) => {
    const { respondWith, download } = world
    respondWith(rawResponse('200 OK', { 'content-type': 'application/pdf' }, '%PDF'))
    const response = await download({ ...wide, ...fields })
    expect([response.status, await response.text()]).toEqual([200, '%PDF'])
    expect(headAt().length).toBeLessThan(8_192)
    expect(headAt()).not.toMatch(/\r\n(if-none-match|if-range|range):/i)
  })

  test('files.upload 415 for a content type that is too long for an upstream', async () => {
    const { respondWith, tries, upload } = world
    respondWith(json({ success: true, code: '2000', message: '', data: file }))
    const { status, body } = await upload({
      ...wide,
      'content-type': `multipart/form-data; boundary=b; x=${'a'.repeat(11_000)}`,
    })
    expect([status, body.code]).toEqual([415, 'REQUEST.UNSUPPORTED_MEDIA_TYPE'])
    expect(tries()).toBe(0)
  })

  test('files.upload 200: the envelope is removed, and the upstream gets the listed headers', async () => {
    const { session, upstream, respondWith, upload } = world
    respondWith(json({ success: true, code: '2000', message: '', data: file }))
    const {
      status,
      body,
      headers: shown,
      text,
    } = await upload({
      'x-forwarded-for': '6.6.6.6',
      'x-user-id': 'root',
      cookie: 'a=b',
      'accept-encoding': 'br',
    })
    expect([status, body?.data?.bizId], text).toEqual([200, file.bizId])
    expect(shown.has('set-cookie')).toBe(false)
    const sent =
      upstream.received.filter((each) => each.startsWith('POST /base/web/v1/consumer/files/upload ')).at(-1) ?? ''
    const names = sent
      .split('\r\n\r\n', 1)[0]
      ?.split('\r\n')
      .slice(1)
      .map((line) => line.split(':', 1)[0]?.toLowerCase())
    expect(names?.sort()).toEqual(
      [
        'accept',
        'authorization',
        'connection',
        'content-length',
        'content-type',
        'host',
        'x-client-country',
        'x-client-ip',
        'x-client-user-agent',
        'x-locale',
        'x-request-id',
      ].sort(),
    )
    expect(sent).not.toContain(session.accessToken)
    expect(sent).toContain('x-client-ip: 203.0.113.7')
  })

  test('files.download 200: only headers of the file itself are relayed', async () => {
    const { upstream, respondWith, download } = world
    respondWith(
      rawResponse(
        '200 OK',
        {
          'content-type': 'application/pdf',
          'set-cookie': 'session=1',
          location: 'http://internal/',
          'x-powered-by': secret,
          'access-control-allow-origin': '*',
          etag: '"ab"',
          'accept-ranges': 'bytes',
        },
        'abc',
      ),
    )
    const response = await download({ range: 'bytes=0-2', 'if-range': '"ab"', 'x-request-id': 'one' })
    expect([response.status, await response.text()]).toEqual([200, 'abc'])
    expect(Object.fromEntries(response.headers)).toMatchObject({
      etag: '"ab"',
      'accept-ranges': 'bytes',
      'x-request-id': 'one',
      ratelimit: expect.stringMatching(/^"[a-z-]+";r=\d+;t=\d+$/),
    })
    for (const name of ['set-cookie', 'location', 'x-powered-by', 'access-control-allow-origin'])
      expect(response.headers.has(name), name).toBe(false)
    expect(response.headers.get('content-disposition')).toBe('attachment')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(upstream.received.at(-1)).toContain('range: bytes=0-2')
  })

  test('files.download 200 for HEAD: headers only, even if the upstream sends the file', async () => {
    const { setBehavior, download, replaceFiles } = world
    await replaceFiles({ streamTimeoutMs: 600_000 })
    const left = Promise.withResolvers<void>()
    setBehavior((socket) => {
      socket.on('close', () => left.resolve())
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/pdf\r\ncontent-length: 900000\r\n\r\n%PDF')
    })
    const response = await download({}, 'HEAD')
    expect([response.status, response.headers.get('content-length')]).toEqual([200, '900000'])
    await left.promise
    await replaceFiles({})
  })

  test.each(['inline', 'inline; attachment', 'attachments'])(
    'files.download 200: the unsafe disposition %s becomes an attachment',
    async (disposition) => {
      const { respondWith, download } = world
      respondWith(rawResponse('200 OK', { 'content-type': 'text/plain', 'content-disposition': disposition }, 'abc'))
      const response = await download()
      expect([response.status, response.headers.get('content-disposition')]).toEqual([200, 'attachment'])
      expect(await response.text()).toBe('abc')
    },
  )

  test('files.download 200: encoding and disposition are case-insensitive', async () => {
    const { respondWith, download } = world
    const fields = 'Content-Disposition: Attachment; filename=a.txt\r\nTransfer-Encoding: Chunked\r\n'
    respondWith(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n${fields}\r\n3\r\nabc\r\n0\r\n\r\n`)
    const response = await download()
    expect([response.status, await response.text()]).toEqual([200, 'abc'])
    expect(response.headers.get('content-disposition')).toBe('Attachment; filename=a.txt')
  })

  test.each<[string, string]>([
    ['a redirect', rawResponse('302 Found', { location: 'http://169.254.169.254/' }, '')],
    ['an error page', rawResponse('500 Oops', { 'content-type': 'text/html' }, secret)],
    ['an invalid status', rawResponse('099 Nothing', {}, secret)],
    ['an HTML page with 404', rawResponse('404 Not Found', { 'content-type': 'text/html' }, secret)],
    ['data instead of a file', json({ secret }, '201 Created')],
    ['an unrequested range', rawResponse('206 Partial Content', { 'content-range': 'bytes 0-2/9' }, 'abc')],
    ['an unrequested 304', 'HTTP/1.1 304 Not Modified\r\netag: "ab"\r\n\r\n'],
    ['not HTTP', `${secret}\r\n\r\n`],
    ['an unknown transfer coding', `HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\n${secret}`],
    ['an unrequested encoding', rawResponse('200 OK', { 'content-encoding': 'gzip' }, secret)],
    ['a file above the limit', rawResponse('200 OK', { 'content-length': '2000000' }, secret)],
  ])('files.download 502: %s', async (_name, text) => {
    const { respondWith, download } = world
    respondWith(text)
    expect(await codeOf(await download())).toEqual([502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'])
  })

  test('files.upload and files.download 502 for an upgrade, without waiting for the deadline', async () => {
    const { respondWith, download, upload } = world
    respondWith('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
    expect(await codeOf(await download())).toEqual([502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'])
    expect(await upload()).toMatchObject({ status: 502, body: { code: 'SYSTEM.UPSTREAM_INVALID_RESPONSE' } })
  })

  test("files.download 404 and 416: the upstream's refusals get the gateway's own messages", async () => {
    const { respondWith, download } = world
    const refusal = (code: string) => ({ success: false, code, message: secret, data: null })
    respondWith(json(refusal('RESOURCE.NOT_FOUND'), '404 Not Found'))
    expect(await codeOf(await download())).toEqual([404, 'RESOURCE.NOT_FOUND'])
    respondWith(json(refusal('FILE.RANGE_NOT_SATISFIABLE'), '416 Range', { 'content-range': 'bytes */3' }))
    const response = await download({ range: 'bytes=9-' })
    expect(response.headers.get('content-range')).toBe('bytes */3')
    expect(await codeOf(response)).toEqual([416, 'FILE.RANGE_NOT_SATISFIABLE'])
  })

  test('files.download 200: without a length, the end of the connection is that of the file', async () => {
    const { setBehavior, download } = world
    const head = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n'
    setBehavior((socket) => {
      socket.write(`${head}first `)
      setTimeout(() => socket.end('second'), 50)
    })
    expect(await (await download()).text()).toBe('first second')
    setBehavior((socket) => {
      socket.write(`${head}half`)
      setTimeout(() => socket.resetAndDestroy(), 50)
    })
    await expect(download().then((response) => response.text())).rejects.toThrow()
  })

  test('files.upload 502: a reply without a length that a reset breaks off; 200 if it ends', async () => {
    const { setBehavior, upload } = world
    const body = JSON.stringify({ success: true, code: '2000', message: '', data: file })
    const reply = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n${body}`
    setBehavior((socket) => {
      socket.write(reply)
      setTimeout(() => socket.resetAndDestroy(), 50)
    })
    expect((await upload()).body.code).toBe('SYSTEM.UPSTREAM_INVALID_RESPONSE')
    setBehavior((socket) => void socket.end(reply))
    expect((await upload()).body.data?.bizId).toBe(file.bizId)
  })

  test('files.download 503 SYSTEM.UNAVAILABLE: a Retry-After of the service is passed on', async () => {
    const { respondWith, download } = world
    respondWith(rawResponse('503 Later', { 'retry-after': '120' }, secret))
    const response = await download()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '120'])
  })

  test('files.download: a truncated body aborts the connection, so that nobody takes it for complete', async () => {
    const { setBehavior, download } = world
    setBehavior((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\nhalf')
      setTimeout(() => socket.destroy(), 50)
    })
    const response = await download()
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  })

  test('files.upload 502: reset, truncated and not JSON; it is never retried', async () => {
    const { setBehavior, tries, upload } = world
    const results: unknown[] = []
    const behaviours: Behaviour[] = [
      (socket) => void socket.destroy(),
      (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{'),
      (socket) => void socket.write(rawResponse('200 OK', { 'content-type': 'text/html' }, secret)),
    ]
    for (const each of behaviours) {
      setBehavior(each)
      const { status, body } = await upload()
      results.push([status, body.code])
    }
    expect(results).toEqual(behaviours.map(() => [502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE']))
    expect(tries()).toBe(behaviours.length)
  })
})
