import type { Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Upstream } from '../../../src/backends/upstream/upstream.ts'
import { downloadFile } from '../../../src/banking/files/contract.ts'
import { type Operation, StreamReply } from '../../../src/kernel/index.ts'
import { arrivedCall } from '../../harness/call.ts'
import { createMovableDurations } from '../../harness/durations.ts'
import { readReport } from '../../harness/raw-operation.ts'
import { type RawUpstream, startRawUpstream } from '../../harness/raw-upstream.ts'
import { upstreamAt } from '../../harness/settings.ts'
import { openUpstream } from '../../harness/upstream.ts'

const idleTimeoutMs = 60_000

const durations = createMovableDurations()
let upstream: Upstream
let service: RawUpstream
let behave: (socket: Socket) => void
beforeAll(async () => {
  service = await startRawUpstream((socket) => behave(socket))
  const settings = upstreamAt(service.url, { timeoutMs: 600_000, streamTimeoutMs: 600_000 })
  upstream = openUpstream(settings, { durations }, idleTimeoutMs)
})
afterAll(async () => {
  await upstream.close()
  await service.close()
})

const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\n'

async function bodyOf(declared: Operation, params: Record<string, string> = {}) {
  const reply = await upstream.handle(arrivedCall(declared, { params }))
  if (!(reply instanceof StreamReply)) throw new Error('not a stream')
  return reply.body
}

test('feed.report 200: a complete reply waits for a slow client longer than the idle timeout', async () => {
  const accepted = Promise.withResolvers<Socket>()
  behave = (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nhalf\r\n')
    accepted.resolve(socket)
  }
  const body = await bodyOf(readReport)
  await expect.poll(() => body.readableLength).toBe(4)
  // The gateway holds the last chunk while its client does not read, and asks for the next one later.
  expect(String(body.read())).toBe('half')
  const socket = await accepted.promise
  await new Promise<void>((resolve) => socket.write('0\r\n\r\n', () => resolve()))
  // Written bytes are readable: the gateway has read them after one turn.
  for (let turns = 0; turns < 5; turns += 1) await turn()
  for (let times = 0; times < 3; times += 1) durations.skip(idleTimeoutMs)
  expect(body.errored).toBeNull()
  expect(await body.toArray()).toEqual([])
})

test('feed.report 200: a service that cannot send because the client does not read is not idle', async () => {
  const size = 8_000_000
  behave = (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${size}\r\n\r\n`)
    socket.write(Buffer.alloc(size))
  }
  const body = await bodyOf(readReport)
  await expect.poll(() => body.readableLength).toBeGreaterThan(0)
  // Like the gateway, which takes all bytes and waits until its client has read them.
  const taken: Buffer = body.read()
  await expect.poll(() => body.readableLength).toBeGreaterThan(0)
  for (let times = 0; times < 3; times += 1) durations.skip(idleTimeoutMs)
  expect(body.errored).toBeNull()
  const rest = await body.toArray()
  expect(rest.reduce((sum, { length }) => sum + length, taken.length)).toBe(size)
})

test('feed.report: a reply without its rest is destroyed after the idle timeout', async () => {
  behave = (socket) => void socket.write(`${head}ha`)
  const body = await bodyOf(readReport)
  await expect.poll(() => body.readableLength).toBe(2)
  body.read()
  durations.skip(idleTimeoutMs - 10_000)
  await turn()
  expect(body.errored).toBeNull()
  const idle = () => {
    durations.skip(idleTimeoutMs)
    return body.errored
  }
  await expect.poll(idle).toMatchObject({ code: 'SYSTEM.UPSTREAM_TIMEOUT' })
})

test('files.download 200: the idle timeout does not apply', async () => {
  const accepted = Promise.withResolvers<Socket>()
  behave = (socket) => {
    socket.write(`${head}ha`)
    accepted.resolve(socket)
  }
  const body = await bodyOf(downloadFile, { file_id: 'a' })
  for (let times = 0; times < 3; times += 1) durations.skip(idleTimeoutMs)
  ;(await accepted.promise).write('lf')
  expect((await body.toArray()).join('')).toBe('half')
})
