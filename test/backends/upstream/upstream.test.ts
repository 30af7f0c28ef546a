import { once } from 'node:events'
import type { Socket } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Upstream } from '../../../src/backends/upstream/upstream.ts'
import { listTimezones } from '../../../src/banking/constants/contract.ts'
import { downloadFile, uploadFile } from '../../../src/banking/files/contract.ts'
import { createRole } from '../../../src/banking/roles/contract.ts'
import type { Call } from '../../../src/gateway/pipeline/call.ts'
import { type Operation, Refusal, StreamReply } from '../../../src/kernel/index.ts'
import { refusalOf } from '../../banking/world.ts'
import { arrivedCall, headersOf } from '../../harness/call.ts'
import { json, type RawUpstream, rawResponse, startRawUpstream } from '../../harness/raw-upstream.ts'
import { upstreamAt } from '../../harness/settings.ts'
import { openUpstream } from '../../harness/upstream.ts'

const maxBytes = 2_048
const invalid = 'SYSTEM.UPSTREAM_INVALID_RESPONSE'

let upstream: Upstream
/** An upstream with a short stream timeout. */
let hasty: Upstream
let misbehaving: RawUpstream
let behave: (socket: Socket) => void = () => undefined
beforeAll(async () => {
  misbehaving = await startRawUpstream((socket) => behave(socket))
  const within = (streamTimeoutMs: number) => {
    const settings = upstreamAt(`${misbehaving.url}/base/`, {
      maxReplyBytes: maxBytes,
      maxStreamBytes: maxBytes,
      streamTimeoutMs,
      timeoutMs: 20_000,
      breaker: { failures: 1_000, openMs: 10 },
    })
    return openUpstream(settings, {}, 20_000)
  }
  upstream = within(20_000)
  hasty = within(700)
})
afterAll(async () => {
  await hasty.close()
  await upstream.close()
  await misbehaving.close()
})

function callOf(operation: Operation, headers: Record<string, string> = {}, method: string = operation.method): Call {
  return arrivedCall(operation, { params: { file_id: 'a b' }, method, headers: headersOf(headers) })
}

/** Destroyed after each test, as the gateway does. */
const replies: StreamReply[] = []
afterEach(() => {
  for (const { body } of replies.splice(0)) body.destroy()
})

async function replyTo(call: Call, text: string): Promise<unknown> {
  behave = (socket) => void socket.write(text)
  const reply = await upstream.handle(call)
  if (reply instanceof StreamReply) replies.push(reply)
  return reply
}
function upload(): Call {
  const call = callOf(uploadFile)
  call.upload = { contentType: 'multipart/form-data; boundary=b', bytes: Readable.from([Buffer.from('--b--')]) }
  return call
}
async function download(text: string, headers: Record<string, string> = {}): Promise<StreamReply> {
  const reply = await replyTo(callOf(downloadFile, headers), text)
  if (reply instanceof StreamReply) return reply
  throw new Error('no stream')
}

function chunked(bytes: number, fields = 'content-type: application/json', coding = 'chunked') {
  const half = Math.floor(bytes / 2)
  const chunk = (length: number, text: string) => `${length.toString(16)}\r\n${text}\r\n`
  const text = `"${'x'.repeat(bytes - 2)}"`
  const body = chunk(half, text.slice(0, half)) + chunk(bytes - half, text.slice(half)) + chunk(0, '')
  return `HTTP/1.1 200 OK\r\n${fields}\r\ntransfer-encoding: ${coding}\r\n\r\n${body}`
}

describe('a buffered reply', () => {
  const text = (bytes: number) => 'x'.repeat(bytes - 2)
  const refusalFor = (text: string) => refusalOf(replyTo(callOf(listTimezones), text))

  test.each([
    ['constants.timezones', () => callOf(listTimezones)],
    ['files.upload', upload],
  ])('%s: accepted at the maximum length, rejected above it', async (_name, call) => {
    expect(await replyTo(call(), json(text(maxBytes)))).toBe(text(maxBytes))
    expect(await replyTo(call(), chunked(maxBytes))).toBe(text(maxBytes))
    expect(await refusalOf(replyTo(call(), json(text(maxBytes + 1))))).toBe(invalid)
    expect(await refusalOf(replyTo(call(), chunked(maxBytes + 1)))).toBe(invalid)
  })

  test('502 for an encoded reply; `identity` is accepted', async () => {
    for (const none of ['identity', 'Identity', ''])
      expect(await refusalFor(json('a', '200 OK', { 'content-encoding': none }))).toBe('none')
    expect(await refusalFor(json('a', '200 OK', { 'content-encoding': 'gzip' }))).toBe(invalid)
  })

  test('502 for an upgrade, and its connection is closed', async () => {
    const left = new Promise((resolve) => {
      behave = (socket) => {
        socket.on('close', resolve)
        socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
      }
    })
    expect(await refusalOf(upstream.handle(callOf(createRole)))).toBe(invalid)
    await left
  })

  test("an idle connection is closed before the service's announced timeout, also one of uploads", async () => {
    const left: Promise<unknown>[] = []
    behave = (socket) => {
      left.push(new Promise((resolve) => socket.on('close', resolve)))
      socket.write(json('a', '200 OK', { 'keep-alive': 'timeout=3' }))
    }
    await Promise.all([upstream.handle(callOf(listTimezones)), upstream.handle(upload())])
    await Promise.all(left)
    expect(left).toHaveLength(2)
  })

  test('a reply that is too long closes its connection', async () => {
    let closed = 0
    behave = (socket) => {
      socket.on('close', () => closed++)
      socket.write(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${maxBytes + 1}\r\n\r\n"`)
    }
    expect(await refusalOf(upstream.handle(callOf(listTimezones)))).toBe(invalid)
    await expect.poll(() => closed).toBe(1)
    expect(await refusalFor(json('a'))).toBe('none')
  })
})

describe('a download', () => {
  const bytesOf = async ({ body }: StreamReply) => (await buffer(body)).length

  test('is limited in size', async () => {
    expect(await bytesOf(await download(rawResponse('200 OK', {}, 'x'.repeat(maxBytes))))).toBe(maxBytes)
    expect(await bytesOf(await download(chunked(maxBytes)))).toBe(maxBytes)
    expect(await refusalOf(download(rawResponse('200 OK', {}, 'x'.repeat(maxBytes + 1))))).toBe(invalid)
    const oversized = await download(chunked(maxBytes + 1))
    expect(await refusalOf(buffer(oversized.body))).toBe(invalid)
  })

  test('destroys an unread stream at its deadline without crashing the process', async () => {
    behave = (socket) => void socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc')
    const reply = await hasty.handle(callOf(downloadFile))
    if (!(reply instanceof StreamReply)) throw new Error('no stream')
    const { body } = reply
    // `events.once` would also reject on an error event.
    await new Promise((resolve) => body.on('close', resolve))
    expect(body.errored).toMatchObject({ code: 'REQUEST.TIMEOUT' })
  })

  test('the coding is case-insensitive', async () => {
    expect(await bytesOf(await download(chunked(9, 'x: y', 'Chunked')))).toBe(9)
  })

  test('the encoding `identity` is accepted', async () => {
    for (const none of ['identity', 'Identity', ''])
      expect(await bytesOf(await download(rawResponse('200 OK', { 'content-encoding': none }, 'abc')))).toBe(3)
  })

  test('only the headers of its bytes are relayed', async () => {
    const fields = { 'content-type': 'text/plain', etag: '"a"', 'set-cookie': 'a=b', location: '/', 'x-odd': '1' }
    const { headers } = await download(rawResponse('200 OK', fields, 'abc'))
    expect(headers).toEqual({
      'content-type': 'text/plain',
      'content-length': '3',
      'content-disposition': 'attachment',
      etag: '"a"',
    })
  })

  test('304 for a matching ETag: no length and no body', async () => {
    const unchanged = 'HTTP/1.1 304 Not Modified\r\netag: "a"\r\ncontent-length: 9\r\n\r\n'
    const { status, headers, body } = await download(unchanged, { 'if-none-match': '"a"' })
    expect([status, headers]).toEqual([304, { etag: '"a"' }])
    expect((await buffer(body)).length).toBe(0)
    expect((await download(unchanged.replace(/content-length: 9\r\n/, ''), { 'if-none-match': '"a"' })).status).toBe(
      304,
    )
    expect(await refusalOf(download(unchanged, { range: 'bytes=0-1' }))).toBe(invalid)
  })

  test('304 relays the ETag only, so that a cached copy stays an attachment', async () => {
    const more = 'content-disposition: inline; filename="a.svg"\r\ncontent-type: image/svg+xml\r\naccept-ranges: bytes'
    const unchanged = `HTTP/1.1 304 Not Modified\r\netag: "a"\r\n${more}\r\n\r\n`
    const { headers } = await download(unchanged, { 'if-none-match': '"a"' })
    expect(headers).toEqual({ etag: '"a"', 'accept-ranges': 'bytes' })
  })

  test('206 for a requested range, never with HEAD', async () => {
    const part = rawResponse('206 Partial Content', { 'content-range': 'bytes 0-2/9' }, 'abc')
    const ranged = { range: 'bytes=0-2' }
    expect((await download(part, ranged)).headers).toMatchObject({ 'content-range': 'bytes 0-2/9' })
    expect(await refusalOf(download(part, { 'if-none-match': '"a"' }))).toBe(invalid)
    expect(await refusalOf(replyTo(callOf(downloadFile, ranged, 'HEAD'), part))).toBe(invalid)
  })

  const refused = (code: string, range: string) => {
    const [status, body] = ['416 Range Not Satisfiable', { success: false, code, message: '', data: null }]
    return download(json(body, status, { 'content-range': range })).catch((error: unknown) =>
      error instanceof Refusal ? [error.code, error.detail.headers] : error,
    )
  }

  test('416 relays a valid Content-Range; no other refusal does', async () => {
    const code = 'FILE.RANGE_NOT_SATISFIABLE'
    expect(await refused(code, 'bytes */9')).toEqual([code, { 'content-range': 'bytes */9' }])
    expect(await refused(code, 'bytes 0-1/9')).toEqual([code, undefined])
    expect(await refused('RESOURCE.NOT_FOUND', 'bytes */9')).toEqual(['RESOURCE.NOT_FOUND', undefined])
  })

  test('that the client abandons ends the upstream request', async () => {
    let isOver = false
    behave = (socket) => {
      socket.on('close', () => {
        isOver = true
      })
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc')
    }
    const reply = await upstream.handle(callOf(downloadFile))
    if (!(reply instanceof StreamReply)) throw new Error('no stream')
    reply.body.destroy()
    await expect.poll(() => isOver).toBe(true)
  })

  test('that times out is not retried', async () => {
    const before = misbehaving.requests()
    behave = () => undefined
    expect(await refusalOf(hasty.handle(callOf(downloadFile)))).toBe('SYSTEM.UPSTREAM_TIMEOUT')
    expect(misbehaving.requests() - before).toBe(1)
  })

  test('with an upgrade as response closes the connection', async () => {
    const left = new Promise((resolve) => {
      behave = (socket) => {
        socket.on('close', resolve)
        socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n')
      }
    })
    expect(await refusalOf(upstream.handle(callOf(downloadFile)))).toBe(invalid)
    await left
  })

  test('rejected by its head closes the connection before its body', async () => {
    const left = new Promise((resolve) => {
      behave = (socket) => {
        socket.on('close', resolve)
        socket.write('HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 9\r\n\r\nabc')
      }
    })
    expect(await refusalOf(upstream.handle(callOf(downloadFile)))).toBe(invalid)
    await left
  })

  test('that breaks off ends with an error', async () => {
    behave = (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc')
    const reply = await upstream.handle(callOf(downloadFile))
    if (!(reply instanceof StreamReply)) throw new Error('no stream')
    const broken = once(reply.body, 'error')
    reply.body.resume()
    expect(await broken).toMatchObject([{ code: invalid }])
  })
})

describe('an upload', () => {
  const uploading = (bytes: Readable, to = upstream): Promise<unknown> => {
    const call = callOf(uploadFile)
    call.upload = { contentType: 'multipart/form-data; boundary=b', bytes }
    return to.handle(call)
  }

  test('504 if the upstream does not read it', async () => {
    behave = (socket) => void socket.pause()
    const endless = new Readable({
      read() {
        this.push(Buffer.alloc(65_536))
      },
    })
    expect(await refusalOf(uploading(endless, hasty))).toBe('SYSTEM.UPSTREAM_TIMEOUT')
    endless.destroy()
  })

  test('408 if the client sends nothing', async () => {
    behave = () => undefined
    const source = new PassThrough()
    source.write('--b')
    expect(await refusalOf(uploading(source, hasty))).toBe('REQUEST.TIMEOUT')
  })

  test('400 if the client disconnects, and the upstream connection is closed', async () => {
    const source = new PassThrough()
    const left = new Promise((resolve) => {
      behave = (socket) => {
        socket.on('close', resolve)
        source.destroy()
      }
    })
    source.write('--b')
    expect(await refusalOf(uploading(source))).toBe('REQUEST.MALFORMED')
    await left
  })

  test('it is refused with the error of its request stream', async () => {
    const source = new PassThrough()
    behave = () => void source.destroy(new Refusal('REQUEST.TIMEOUT'))
    source.write('--b')
    expect(await refusalOf(uploading(source))).toBe('REQUEST.TIMEOUT')
  })

  test('409 before its end closes the upstream connection', async () => {
    const source = new PassThrough()
    const left = new Promise((resolve) => {
      behave = (socket) => {
        socket.on('close', resolve)
        socket.write(json({ success: false, code: 'STATE.CONFLICT', message: '', data: null }, '409 Conflict'))
      }
    })
    source.write('--b')
    expect(await refusalOf(uploading(source))).toBe('STATE.CONFLICT')
    await left
  })

  test('whose rest does not arrive after the reply closes the upstream connection, too', async () => {
    const source = new PassThrough()
    const left = new Promise((resolve) => {
      behave = (socket) => {
        socket.on('close', resolve)
        socket.write(json('early'))
      }
    })
    source.write('--b')
    expect(await uploading(source)).toBe('early')
    source.destroy()
    await left
  })

  test('that has ended leaves no timer', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length
    const before = timers()
    expect(await replyTo(upload(), json('done'))).toBe('done')
    expect(await replyTo(callOf(listTimezones), json('done'))).toBe('done')
    expect(timers()).toBeLessThanOrEqual(before)
  })
})

describe('an upstream request', () => {
  const lastHead = () => misbehaving.received.at(-1)?.split('\r\n\r\n')[0] ?? ''
  const unchanged = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'

  test("the path starts with the URL's path; path parameters are percent-encoded", async () => {
    await download(unchanged)
    expect(lastHead()).toMatch(/^GET \/base\/web\/v1\/consumer\/files\/a%20b\/download HTTP/)
    await replyTo(callOf(listTimezones), json([]))
    expect(lastHead()).toMatch(/^GET \/base\/web\/v1\/consumer\/constants\/timezones HTTP/)
  })

  test('conditional headers above 2,048 characters are dropped, with those that depend on them', async () => {
    await download(unchanged, { 'if-range': 'a'.repeat(2_048), range: 'bytes=0-1' })
    expect(lastHead()).toMatch(/^if-range: a{2048}\r$/im)
    expect(lastHead()).toMatch(/^range: bytes=0-1/im)
    await download(unchanged, { 'if-range': 'a'.repeat(2_049), range: 'bytes=0-1' })
    expect(lastHead()).not.toMatch(/^(if-)?range:/im)
  })

  test('HEAD forwards If-None-Match and no range', async () => {
    const fields = { 'if-none-match': '"a"', 'if-range': '"a"', range: 'bytes=0-1' }
    await replyTo(callOf(downloadFile, fields, 'HEAD'), unchanged)
    expect(lastHead()).toMatch(/^if-none-match: "a"/im)
    expect(lastHead()).not.toMatch(/^(if-)?range:/im)
    expect(lastHead()).toMatch(/^x-client-method: HEAD\r$/im)
    await replyTo(callOf(downloadFile, fields), unchanged)
    expect(lastHead()).not.toMatch(/^x-client-method:/im)
  })

  test("has the client's locale and country", async () => {
    const call = callOf(listTimezones)
    Object.assign(call, { locale: 'ja', country: 'JP', clientIp: '203.0.113.9', userAgent: 'é' })
    await replyTo(call, json([]))
    const fields = ['x-locale: ja', 'x-client-country: jp', 'x-client-ip: 203.0.113.9', 'x-client-user-agent: %c3%a9']
    for (const field of fields) expect(lastHead().toLowerCase()).toContain(`\r\n${field}`)
  })
})
