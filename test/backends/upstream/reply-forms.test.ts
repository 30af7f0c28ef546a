import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Upstream } from '../../../src/backends/upstream/upstream.ts'
import { listTimezones } from '../../../src/banking/constants/contract.ts'
import { downloadFile } from '../../../src/banking/files/contract.ts'
import { updateProfile } from '../../../src/banking/profile/contract.ts'
import { Refusal, StreamReply } from '../../../src/kernel/index.ts'
import { refusalOf } from '../../banking/world.ts'
import { arrivedCall } from '../../harness/call.ts'
import { type Behaviour, json, type RawUpstream, startRawUpstream } from '../../harness/raw-upstream.ts'
import { upstreamAt } from '../../harness/settings.ts'
import { openUpstream } from '../../harness/upstream.ts'

const invalid = 'SYSTEM.UPSTREAM_INVALID_RESPONSE'
const interim = {
  'a 100': 'HTTP/1.1 100 Continue\r\n\r\n',
  'a 100 without a reason': 'HTTP/1.1 100\r\n\r\n',
  'a 100 with fields': 'HTTP/1.1 100 Continue\r\nDate: Mon, 05 Jan 2026 12:00:00 GMT\r\nServer: x\r\n\r\n',
  'a 102 and a 103': 'HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n',
  'a 103 and two 100s': `HTTP/1.1 103 Early Hints\r\n\r\n${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2)}`,
  'two 100s': 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(2),
}

describe('replies as programs send them', () => {
  let service: RawUpstream
  let upstream: Upstream
  let behave: Behaviour = () => undefined
  let before = 0
  beforeAll(async () => {
    service = await startRawUpstream((socket, request) => behave(socket, request))
    const breaker = { failures: 100, openMs: 0 }
    upstream = openUpstream(upstreamAt(service.url, { timeoutMs: 5_000, connections: 1, breaker }))
  })
  beforeEach(() => {
    before = service.requests()
  })
  afterAll(async () => {
    await upstream.close()
    await service.close()
  })

  const read = () => upstream.handle(arrivedCall(listTimezones))
  const update = () => upstream.handle(arrivedCall(updateProfile))
  /** The bytes of a download. */
  const download = async (): Promise<string> => {
    const reply = await upstream.handle(arrivedCall(downloadFile, { params: { file_id: 'a' } }))
    return reply instanceof StreamReply ? text(reply.body) : 'no stream'
  }
  const tries = () => service.requests() - before

  test.each(Object.entries(interim))('a reply after %s is read, whole or byte by byte', async (_name, heads) => {
    const bytewise: Behaviour = async (socket) => {
      for (const byte of heads + json('x')) {
        socket.write(byte)
        await turn()
      }
    }
    for (const each of [(socket: Socket) => void socket.write(heads + json('x')), bytewise]) {
      behave = each
      expect(await read()).toBe('x')
      expect(await update()).toBe('x')
      expect(await download()).toBe('"x"')
    }
    expect(tries()).toBe(6)
  })

  test('a 100 in a body is not removed, and connections are reused', async () => {
    const body = JSON.stringify(interim['two 100s'].repeat(2_000))
    const sockets = new Set<Socket>()
    behave = (socket) => {
      sockets.add(socket)
      const head = `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-type: application/json\r\n`
      socket.write(`${head}content-length: ${body.length}\r\n\r\n`)
      setImmediate(() => socket.write(body))
    }
    for (let round = 1; round <= 3; round++) expect(await read()).toBe(JSON.parse(body))
    const splitBehind: Behaviour = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n')
      setImmediate(() => socket.write(`1b\r\n"HTTP/1.1 100 Continue\\r\\n"\r\n0\r\n\r\n`))
    }
    behave = splitBehind
    expect(await read()).toBe('HTTP/1.1 100 Continue\r\n')
    expect(sockets.size).toBe(1)
  })

  test.each<[string, string]>([
    ['a malformed 100', `HTTP/1.1 100 Continue\r\nbad field\r\n\r\n${json('x')}`],
    ['a 100 with bare line feeds', `HTTP/1.1 100 Continue\n\n${json('x')}`],
    ['a 100 with a folded field', `HTTP/1.1 100 Continue\r\na: b\r\n c\r\n\r\n${json('x')}`],
    ['a 100 of 8 KB', `HTTP/1.1 100 Continue\r\na: ${'b'.repeat(8_192)}\r\n\r\n${json('x')}`],
    ['a 100 with a length, and bytes behind it', `HTTP/1.1 100 C\r\ncontent-length: 5\r\n\r\nhello${json('x')}`],
    ['a 101 without an upgrade', `HTTP/1.1 101 Switching\r\n\r\n${json('x')}`],
    [
      'conflicting lengths',
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 3\r\ncontent-length: 4\r\n\r\n"x"',
    ],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n3\r\n"x"\r\n0\r\n\r\n',
    ],
  ])(`${invalid}: %s`, async (_name, reply) => {
    behave = (socket) => socket.write(reply)
    expect(await refusalOf(update())).toBe(invalid)
    expect(tries()).toBe(1)
  })

  test('SYSTEM.UPSTREAM_TIMEOUT: 100s without an end, while memory does not grow', async () => {
    let timer: NodeJS.Timeout | undefined
    behave = (socket) => {
      timer = setInterval(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)), 10)
    }
    expect(await refusalOf(update())).toBe('SYSTEM.UPSTREAM_TIMEOUT')
    clearInterval(timer)
  })

  test.each([
    ['text/csv, application/pdf', ['text/csv', 'application/pdf']],
    ['text/csv; q=1', undefined],
    ['<b>/x', undefined],
  ])('a refusal with Accept: %j names %j', async (accept, accepts) => {
    const body = { success: false, code: 'VALIDATION.INVALID_PARAMETER', message: '', data: null, field: 'file' }
    behave = (socket) => socket.write(json(body, '400 Bad', { accept: accept }))
    const refused = await download().catch((error: unknown) => error)
    expect(refused).toMatchObject({ code: 'VALIDATION.INVALID_PARAMETER', detail: { field: 'file' } })
    expect(refused instanceof Refusal && refused.detail.accepts).toEqual(accepts)
  })

  const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n'
  test.each<[string, Behaviour]>([
    ['its end', (socket) => void socket.end(`${head}\r\n123456`)],
    ['its end, of HTTP/1.0', (socket) => void socket.end(`${head.replace('1.1', '1.0')}\r\n123456`)],
    [
      'its end, in pieces',
      (socket) => {
        socket.write(`${head}connection: close\r\n\r\n123`)
        setTimeout(() => socket.end('456'), 50)
      },
    ],
  ])('a reply without a length ends with the connection: %s', async (_name, behaviour) => {
    behave = behaviour
    expect(await read()).toBe(123_456)
    expect(await update()).toBe(123_456)
    expect(await download()).toBe('123456')
  })

  test.each<[string, string]>([
    ['without a length, by a reset', `${head}\r\n123`],
    ['of HTTP/1.0 without a length, by a reset', `${head.replace('1.1', '1.0')}\r\n123`],
    ['with a length, by a reset', `${head}content-length: 6\r\n\r\n123`],
    ['in chunks, by a reset', `${head}transfer-encoding: chunked\r\n\r\n3\r\n123\r\n`],
    [
      'in chunks that close the connection, by a reset',
      `${head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n3\r\n123\r\n`,
    ],
  ])('a reply that breaks off is a failure: %s', async (_name, reply) => {
    behave = (socket) => {
      socket.write(reply)
      setTimeout(() => socket.resetAndDestroy(), 50)
    }
    expect(await refusalOf(update())).toBe(invalid)
    await expect(download()).rejects.toThrow()
  })

  test.each<[string, string]>([
    ['with a length', `${head}content-length: 6\r\n\r\n123`],
    ['with a length that closes the connection', `${head}connection: close\r\ncontent-length: 6\r\n\r\n123`],
    ['in chunks', `${head}transfer-encoding: chunked\r\n\r\n3\r\n123\r\n`],
    [
      'in chunks that close the connection',
      `${head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n3\r\n123\r\n`,
    ],
    ['in chunks, inside of one', `${head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n6\r\n123`],
    [
      'in chunks, before the last line',
      `${head}connection: close\r\ntransfer-encoding: chunked\r\n\r\n3\r\n123\r\n0\r\n`,
    ],
  ])('a reply that ends early is a failure: %s', async (_name, reply) => {
    behave = (socket) => {
      socket.write(reply)
      setTimeout(() => socket.end(), 50)
    }
    expect(await refusalOf(update())).toBe(invalid)
    await expect(download()).rejects.toThrow()
  })

  test.each(['gzip', 'gzip, chunked', 'identity'])(
    'a stream with the transfer coding %s is a failure',
    async (coding) => {
      behave = (socket) => void socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: ${coding}\r\n\r\n1\r\nx\r\n0\r\n\r\n`)
      expect(await refusalOf(download())).toBe(invalid)
    },
  )
})
