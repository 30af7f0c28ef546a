import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import type { UpstreamConfiguration } from '../../src/config/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { formOf, pdf } from '../harness/form.ts'
import { requiredHeaders } from '../harness/http.ts'
import { answer, type Behaviour, json, type Misbehaving, startMisbehaving } from '../harness/misbehaving.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

const workspace = developmentIds.workspace
/** A download of which its client takes nothing is cut off then. */
const stallMs = 3_000
const secret = 'stack trace of the upstream'
const file = {
  bizId: '01990000-0000-7000-8000-00000000f11e',
  fileName: 'a.pdf',
  contentType: 'application/pdf',
  sizeBytes: 3,
  sha256: 'ab',
  purpose: { code: 'DOCUMENT', value: 1, label: '', description: '' },
  fileStatus: { code: 'AVAILABLE', value: 1, label: '', description: '' },
  createdAt: '2026-01-01T00:00:00.000Z',
}

/** hardening.md, rules 3 to 5, for what is streamed: the upstream of files does wrong, and what the caller gets. */
describe.skipIf(inject('topology') !== 'embedded')('faults of upstream streams', () => {
  let portico: Portico
  let session: Session
  let behave: Behaviour = () => undefined
  let upstream: Misbehaving

  const configuration = (): UpstreamConfiguration => ({
    url: `${upstream.url}/base`,
    audience: 'upstream-under-test',
    timeoutMs: 700,
    maxReplyBytes: 100_000,
    streamTimeoutMs: 700,
    maxStreamBytes: 1_000_000,
    connections: 8,
    concurrency: 8,
    queue: 8,
    breaker: { failures: 1_000, openMs: 200 },
  })

  beforeAll(async () => {
    upstream = await startMisbehaving((socket, request) => behave(socket, request))
    portico = await startPortico({
      adjust: (settings) => {
        settings.backends = { ...settings.backends, files: configuration() }
        settings.requests.downloadStallMs = stallMs
      },
    })
    portico.expectFault(({ operation }) => /^files\./.test(String(operation)))
    session = await signIn(portico)
  })
  afterAll(async () => {
    await portico?.stop()
    await upstream?.close()
  })
  let before = 0
  beforeEach(() => {
    before = upstream.requests()
  })

  const tries = () => upstream.requests() - before
  const says = (text: string) => {
    behave = (socket) => void socket.write(text)
  }
  const headers = () => ({
    ...requiredHeaders(),
    authorization: `Bearer ${session.accessToken}`,
    'x-workspace-id': workspace,
  })
  const download = (extra: Record<string, string> = {}) =>
    fetch(`${portico.url}/web/v1/consumer/files/${file.bizId}/download`, { headers: { ...headers(), ...extra } })
  const upload = (extra: Record<string, string> = {}) => {
    const form = formOf([
      { name: 'file', content: pdf(), fileName: 'a.pdf', type: 'application/pdf' },
      { name: 'purpose', content: 'DOCUMENT' },
    ])
    return portico.call('POST', '/web/v1/consumer/files/upload', {
      token: session.accessToken,
      workspace,
      headers: { ...form.headers, ...extra },
      body: form.body,
    })
  }
  const codeOf = async (response: Response) => {
    const text = await response.text()
    expect(text).not.toContain(secret)
    return [response.status, JSON.parse(text).code]
  }

  const wide = { 'user-agent': 'é'.repeat(512) }
  const headAt = () =>
    upstream.received
      .filter((each) => /^(GET|POST) \/base/.test(each))
      .at(-1)
      ?.split('\r\n\r\n')[0] ?? ''

  test.each([
    ['If-None-Match', { 'if-none-match': 'a'.repeat(11_000) }],
    ['If-Range', { 'if-range': 'a'.repeat(11_000), range: 'bytes=0-0' }],
    ['Range', { range: `bytes=${'0-0,'.repeat(2_700)}1-1` }],
  ])('files.download 200: an %s that is too long for the head of an upstream is left out', async (_name, fields) => {
    says(answer('200 OK', { 'content-type': 'application/pdf' }, '%PDF'))
    const response = await download({ ...wide, ...fields })
    expect([response.status, await response.text()]).toEqual([200, '%PDF'])
    expect(headAt().length).toBeLessThan(8_192)
    expect(headAt()).not.toMatch(/\r\n(if-none-match|if-range|range):/i)
  })

  test('files.upload 415: a type that is too long for the head of an upstream', async () => {
    says(json({ success: true, code: '2000', message: '', data: file }))
    const { status, body } = await upload({
      ...wide,
      'content-type': `multipart/form-data; boundary=b; x=${'a'.repeat(11_000)}`,
    })
    expect([status, body.code]).toEqual([415, 'REQUEST.UNSUPPORTED_MEDIA_TYPE'])
    expect(tries()).toBe(0)
  })

  test('files.upload 200: an envelope is taken off, and the upstream sees an explicit list of headers', async () => {
    says(json({ success: true, code: '2000', message: '', data: file }))
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

  test('files.download 200: of the upstream’s head only what belongs to the bytes is shown', async () => {
    says(
      answer(
        '200 OK',
        {
          'content-type': 'application/pdf',
          'set-cookie': 'session=1',
          location: 'http://internal/',
          'x-powered-by': secret,
          'access-control-allow-origin': '*',
          etag: '"ab"',
        },
        'abc',
      ),
    )
    const response = await download({ range: 'bytes=0-2', 'if-range': '"ab"' })
    expect([response.status, await response.text()]).toEqual([200, 'abc'])
    for (const name of ['set-cookie', 'location', 'x-powered-by', 'access-control-allow-origin'])
      expect(response.headers.has(name), name).toBe(false)
    expect(response.headers.get('content-disposition')).toBe('attachment')
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(upstream.received.at(-1)).toContain('range: bytes=0-2')
  })

  test.each(['attachment; filename="\u00e9.txt"', 'attachment; filename="\u6f22.txt"', 'inline', 'inline; attachment'])(
    'files.download 200: a disposition that may not be is an attachment: %s',
    async (disposition) => {
      says(answer('200 OK', { 'content-type': 'text/plain', 'content-disposition': disposition }, 'abc'))
      const response = await download()
      expect([response.status, response.headers.get('content-disposition')]).toEqual([200, 'attachment'])
      expect(await response.text()).toBe('abc')
    },
  )

  test('files.download 200: the names of a coding and of a disposition are the same in capitals', async () => {
    const fields = 'Content-Disposition: Attachment; filename=a.txt\r\nTransfer-Encoding: Chunked\r\n'
    says(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n${fields}\r\n3\r\nabc\r\n0\r\n\r\n`)
    const response = await download()
    expect([response.status, await response.text()]).toEqual([200, 'abc'])
    expect(response.headers.get('content-disposition')).toBe('Attachment; filename=a.txt')
  })

  test.each<[string, string]>([
    ['a redirect', answer('302 Found', { location: 'http://169.254.169.254/' }, '')],
    ['an error page', answer('500 Oops', { 'content-type': 'text/html' }, secret)],
    ['a status that is none', answer('099 Nothing', {}, secret)],
    ['a page that is no file', answer('404 Not Found', { 'content-type': 'text/html' }, secret)],
    ['data in the place of bytes', json({ secret }, '201 Created')],
    ['a part that nobody asked for', answer('206 Partial Content', { 'content-range': 'bytes 0-2/9' }, 'abc')],
    ['news of no change that nobody asked for', 'HTTP/1.1 304 Not Modified\r\netag: "ab"\r\n\r\n'],
    ['no HTTP at all', `${secret}\r\n\r\n`],
    ['a stream without an end', `HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n${secret}`],
    ['an encoding that nobody asked for', answer('200 OK', { 'content-encoding': 'gzip' }, secret)],
    ['more than is let through', answer('200 OK', { 'content-length': '2000000' }, secret)],
  ])('files.download 502: %s', async (_name, text) => {
    says(text)
    expect(await codeOf(await download())).toEqual([502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'])
  })

  test('files.upload and files.download 502: another protocol is an answer that nobody promised, and no reason to wait', async () => {
    says('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
    expect(await codeOf(await download())).toEqual([502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE'])
    expect(await upload()).toMatchObject({ status: 502, body: { code: 'SYSTEM.UPSTREAM_INVALID_RESPONSE' } })
  })

  test('files.download 404 and 416: refusals are said again in the gateway’s words', async () => {
    const refusal = (code: string) => ({ success: false, code, message: secret, data: null })
    says(json(refusal('RESOURCE.NOT_FOUND'), '404 Not Found'))
    expect(await codeOf(await download())).toEqual([404, 'RESOURCE.NOT_FOUND'])
    says(json(refusal('FILE.RANGE_NOT_SATISFIABLE'), '416 Range', { 'content-range': 'bytes */3' }))
    const response = await download({ range: 'bytes=9-' })
    expect(response.headers.get('content-range')).toBe('bytes */3')
    expect(await codeOf(response)).toEqual([416, 'FILE.RANGE_NOT_SATISFIABLE'])
  })

  test('files.download: bytes that break off break the connection, so that nobody takes them for whole', async () => {
    behave = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\nhalf')
      setTimeout(() => socket.destroy(), 50)
    }
    const response = await download()
    expect(response.status).toBe(200)
    await expect(response.text()).rejects.toThrow()
  })

  test('files.download: a stream that drips is cut at the total deadline', async () => {
    const timers: NodeJS.Timeout[] = []
    behave = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\n')
      timers.push(setInterval(() => socket.write('x'), 50))
    }
    const start = Date.now()
    await expect((await download()).text()).rejects.toThrow()
    expect(Date.now() - start).toBeLessThan(3_000)
    for (const timer of timers) clearInterval(timer)
  })

  test.each([
    ['files.download', () => download().then(codeOf)],
    ['files.upload', () => upload().then(({ status, body }) => [status, body.code])],
  ])('%s 504: no answer within the deadline', async (_name, ask) => {
    behave = () => undefined
    expect(await ask()).toEqual([504, 'SYSTEM.UPSTREAM_TIMEOUT'])
  })

  test('files.upload 502: reset, cut short and not JSON; it is never sent twice', async () => {
    const results: unknown[] = []
    const behaviours: Behaviour[] = [
      (socket) => void socket.destroy(),
      (socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99\r\n\r\n{'),
      (socket) => void socket.write(answer('200 OK', { 'content-type': 'text/html' }, secret)),
    ]
    for (const each of behaviours) {
      behave = each
      const { status, body } = await upload()
      results.push([status, body.code])
    }
    expect(results).toEqual(behaviours.map(() => [502, 'SYSTEM.UPSTREAM_INVALID_RESPONSE']))
    expect(upstream.requests() - before).toBe(behaviours.length)
  })

  const replaceFiles = (changes: Partial<UpstreamConfiguration>) => {
    const { running, settings } = portico
    const files = { ...configuration(), ...changes }
    return running.replaceBackends({ ...settings, backends: { ...settings.backends, files } })
  }
  const giveStreamsTime = (streamTimeoutMs: number) => replaceFiles({ streamTimeoutMs })

  /** An upload that begins and does not go on. */
  const beginUpload = () => {
    const { hostname, port } = new URL(portico.url)
    const socket = connect(Number(port), hostname)
    const head = {
      ...headers(),
      host: hostname,
      'content-type': 'multipart/form-data; boundary=b',
      'content-length': '99999',
    }
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.on('error', () => undefined)
    socket.write(`POST /web/v1/consumer/files/upload HTTP/1.1\r\n${lines.join('')}\r\n--b\r\n`)
    return socket
  }

  test('files.upload 408: it is the client that is slow, and the upstream is not blamed', async () => {
    behave = () => undefined
    const [head] = await once(beginUpload(), 'data')
    expect(String(head)).toMatch(/^HTTP\/1\.1 408 .*"REQUEST\.TIMEOUT"/s)
  })

  const takeNothing = (requestId: string): Socket => {
    const size = 60_000_000
    behave = (socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${size}\r\n\r\n`)
      socket.write(Buffer.alloc(size, 'x'))
    }
    const { hostname, port } = new URL(portico.url)
    const socket = connect(Number(port), hostname)
    const asked = { ...headers(), host: hostname, 'x-request-id': requestId }
    const lines = Object.entries(asked).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.on('error', () => undefined).pause()
    socket.write(`GET /web/v1/consumer/files/${file.bizId}/download HTTP/1.1\r\n${lines.join('')}\r\n`)
    return socket
  }

  test.each([
    ['at the deadline', { streamTimeoutMs: 2_000 }, 'the client was too slow for a stream'],
    ['where it stalls', { streamTimeoutMs: 10_000 }, 'a client that takes nothing of a stream'],
  ])(
    'files.download: whoever takes nothing is cut off %s, and the upstream is not blamed',
    async (_name, set, internal) => {
      await replaceFiles({ maxStreamBytes: 100_000_000, ...set })
      const id = randomUUID()
      const socket = takeNothing(id)
      const told = () => portico.log.find(({ requestId }) => requestId === id)
      const cut = { level: 'info', code: 'REQUEST.TIMEOUT', status: 200, internal }
      await expect.poll(told, { timeout: 10_000 }).toMatchObject(cut)
      socket.destroy()
      await replaceFiles({})
    },
  )

  test('files.download 200: an upstream that pauses for longer than a client may is waited for', async () => {
    await replaceFiles({ streamTimeoutMs: 10_000 })
    behave = async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nha')
      await pause(stallMs + 300)
      socket.write('lf')
    }
    const response = await download()
    expect([response.status, await response.text()]).toEqual([200, 'half'])
    await replaceFiles({})
  })

  test('files.read 404 in time: clients that are slow with their uploads take no place of other requests', async () => {
    behave = (socket, request) => {
      if (request.startsWith('GET '))
        socket.write(json({ success: false, code: 'RESOURCE.NOT_FOUND', message: '', data: null }, '404 Not Found'))
    }
    await giveStreamsTime(20_000)
    const uploads = Array.from({ length: configuration().concurrency }, beginUpload)
    await expect.poll(() => tries()).toBe(uploads.length)
    const { status, body } = await portico.call('GET', `/web/v1/consumer/files/${file.bizId}`, {
      token: session.accessToken,
      workspace,
    })
    expect([status, body.code]).toEqual([404, 'RESOURCE.NOT_FOUND'])
    for (const each of uploads) each.destroy()
    await giveStreamsTime(700)
  })

  test('files.download 200: one that is under way is not broken off when the places of the domains are changed', async () => {
    await giveStreamsTime(20_000)
    behave = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 8\r\n\r\nhalf')
      setTimeout(() => socket.write('half'), 3_000)
    }
    const response = await download()
    await giveStreamsTime(700)
    expect(await response.text()).toBe('halfhalf')
  })

  describe('the circuit breaker', () => {
    const missing = json({ success: false, code: 'RESOURCE.NOT_FOUND', message: '', data: null }, '404 Not Found')
    const read = () =>
      portico
        .call('GET', `/web/v1/consumer/files/${file.bizId}`, { token: session.accessToken, workspace })
        .then(({ status, body }) => [status, body.code])
    const until = async (count: number) => expect.poll(() => tries()).toBe(count)
    afterEach(() => replaceFiles({}))

    test('files.read 404: streams that fail do not take it away', async () => {
      await replaceFiles({ breaker: { failures: 1, openMs: 10_000 } })
      says(answer('500 Oops', { 'content-type': 'text/html' }, secret))
      expect(await codeOf(await download())).toEqual([503, 'SYSTEM.UNAVAILABLE'])
      says(missing)
      expect(await read()).toEqual([404, 'RESOURCE.NOT_FOUND'])
      expect(await codeOf(await download())).toEqual([503, 'SYSTEM.UNAVAILABLE'])
    })

    test('files.download 503 at once while a slow upload tries whether the upstream is back', async () => {
      await replaceFiles({ streamTimeoutMs: 20_000, breaker: { failures: 1, openMs: 100 } })
      behave = (socket) => void socket.destroy()
      expect((await upload()).status).toBe(502)
      await pause(150)
      behave = () => undefined
      const slow = beginUpload()
      await until(2)
      says(missing)
      const start = Date.now()
      expect(await codeOf(await download())).toEqual([503, 'SYSTEM.UNAVAILABLE'])
      expect(await read()).toEqual([404, 'RESOURCE.NOT_FOUND'])
      expect(Date.now() - start).toBeLessThan(2_000)
      slow.destroy()
    })
  })

  test('a client that goes away ends the upstream’s request too', async () => {
    const closed = Promise.withResolvers<void>()
    behave = (socket: Socket) => void socket.once('close', () => closed.resolve())
    const socket = beginUpload()
    await expect.poll(() => upstream.requests()).toBeGreaterThan(before)
    socket.destroy()
    await closed.promise
  })
})
