import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { Agent, type Dispatcher } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sendRequest } from '../../../src/backends/upstream/client.ts'
import { listTimezones } from '../../../src/banking/constants/contract.ts'
import { downloadFile } from '../../../src/banking/files/contract.ts'
import { updateProfile } from '../../../src/banking/profile/contract.ts'
import { StreamReply } from '../../../src/kernel/index.ts'
import { systemDurations } from '../../../src/platform/runtime/index.ts'
import { refusalOf } from '../../banking/world.ts'
import { arrivedCall } from '../../harness/call.ts'
import { createMovableDurations } from '../../harness/durations.ts'
import { json, rawResponse, startRawUpstream } from '../../harness/raw-upstream.ts'
import { upstreamAt } from '../../harness/settings.ts'
import { openUpstream } from '../../harness/upstream.ts'

const invalid = 'SYSTEM.UPSTREAM_INVALID_RESPONSE'

/** Long, so that only a skip reaches it. */
const timeoutMs = 60_000
const durations = createMovableDurations()

let silent: Server
let requests = 0
beforeAll(async () => {
  silent = createServer(() => {
    requests += 1
  })
  await once(silent.listen(0, '127.0.0.1'), 'listening')
})
afterAll(() => {
  silent.closeAllConnections()
  silent.close()
})

test('504 SYSTEM.UPSTREAM_TIMEOUT for a command past its deadline in the queue: it is never sent', async () => {
  const address = silent.address()
  const port = typeof address === 'object' ? address?.port : 0
  const settings = upstreamAt(`http://127.0.0.1:${port}`, {
    timeoutMs,
    concurrency: 1,
    queue: 20,
    breaker: { failures: 100, openMs: 0 },
  })
  const upstream = openUpstream(settings, { durations })
  const pending = Array.from({ length: 20 }, () => refusalOf(upstream.handle(arrivedCall(updateProfile))))
  await expect.poll(() => requests).toBe(1)
  durations.skip(timeoutMs)
  const refused = await Promise.all(pending)
  expect(refused).toEqual(Array(20).fill('SYSTEM.UPSTREAM_TIMEOUT'))
  expect(requests).toBe(1)
  await upstream.close()
})

test('504 SYSTEM.UPSTREAM_TIMEOUT for a retry: the deadline covers both attempts', async () => {
  const accepted: Socket[] = []
  const failing = await startRawUpstream((socket) => void accepted.push(socket))
  const settings = upstreamAt(failing.url, { timeoutMs })
  const upstream = openUpstream(settings, { durations })
  const pending = refusalOf(upstream.handle(arrivedCall(listTimezones)))
  await expect.poll(() => accepted.length).toBe(1)
  durations.skip(timeoutMs / 2)
  accepted[0]?.destroy()
  await expect.poll(() => accepted.length).toBe(2)
  durations.skip(timeoutMs / 2)
  expect(await pending).toBe('SYSTEM.UPSTREAM_TIMEOUT')
  expect(failing.requests()).toBe(2)
  await upstream.close()
  await failing.close()
})

test("a reply in the socket's buffer is read after the process was busy; an unsent request is not sent", async () => {
  const left = Promise.withResolvers<void>()
  const prompt = await startRawUpstream((socket) => {
    socket.on('close', () => left.resolve())
    setTimeout(() => durations.skip(timeoutMs), 1)
    socket.write(json([]))
    // The process is busy, so that the deadline passes before it can read.
    const start = performance.now()
    while (performance.now() - start < 10);
  })
  const settings = upstreamAt(prompt.url, { timeoutMs, connections: 1 })
  const upstream = openUpstream(settings, { durations })
  const request = () => upstream.handle(arrivedCall(listTimezones))
  const [first, second] = await Promise.allSettled([request(), request()])
  expect(first).toEqual({ status: 'fulfilled', value: [] })
  expect(second).toMatchObject({ status: 'rejected', reason: { code: 'SYSTEM.UPSTREAM_TIMEOUT' } })
  await upstream.close()
  // The upstream received the request before the only connection closed.
  await left.promise
  expect(prompt.requests()).toBe(1)
  await prompt.close()
})

test('a request that was not sent before its deadline is not sent at the deadline', async () => {
  const aborted: Error[] = []
  const controller: Dispatcher.DispatchController = {
    aborted: false,
    paused: false,
    reason: null,
    abort: (reason) => void aborted.push(reason),
    pause: () => undefined,
    resume: () => undefined,
  }
  const sent: boolean[] = []
  /** Connects in the turn in which the deadline passes. Without a check, the request would be sent and not aborted. */
  class Late extends Agent {
    override dispatch(_asked: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
      setTimeout(() => {
        handler.onRequestStart?.(controller, null)
        sent.push(aborted.length === 0)
      }, 0)
      return true
    }
  }
  const requests = sendRequest(
    new Late(),
    { method: 'GET', path: '/' },
    { maxReplyBytes: 1, durations: systemDurations, remainingMs: 0 },
  )
  expect(await refusalOf(requests)).toBe('SYSTEM.UPSTREAM_TIMEOUT')
  await expect.poll(() => sent).toEqual([false])
})

test('the time of a stream starts after the queue', async () => {
  const slow = await startRawUpstream(
    (socket) => void setTimeout(() => socket.write(rawResponse('200 OK', {}, 'x')), 150),
  )
  const settings = upstreamAt(slow.url, { timeoutMs: 100, concurrency: 1, queue: 1 })
  const upstream = openUpstream(settings)
  const download = () => upstream.handle(arrivedCall(downloadFile, { params: { file_id: 'a' } }))
  for (const reply of await Promise.all([download(), download()])) {
    expect(reply).toBeInstanceOf(StreamReply)
    if (reply instanceof StreamReply) reply.body.destroy()
  }
  await upstream.close()
  await slow.close()
})

test('the call assertion is signed after the queue, so that it has not expired', async () => {
  const held: Socket[] = []
  const slow = await startRawUpstream((socket) => void held.push(socket))
  let current = 'an early assertion'
  const settings = upstreamAt(slow.url, { concurrency: 1, queue: 1 })
  const upstream = openUpstream(settings, { assertionOf: async () => current })
  const download = () => upstream.handle(arrivedCall(downloadFile, { params: { file_id: 'a' } }))
  const first = download()
  const second = download()
  await expect.poll(() => held).toHaveLength(1)
  current = 'a later assertion'
  for (const requests of [first, second]) {
    await expect.poll(() => held).not.toHaveLength(0)
    held.shift()?.end(rawResponse('200 OK', { connection: 'close' }, 'x'))
    const reply = await requests
    expect(reply instanceof StreamReply && String(await reply.body.toArray())).toBe('x')
  }
  expect(slow.received.map((text) => /authorization: Bearer (.*)\r/i.exec(text)?.[1])).toEqual([
    'an early assertion',
    'a later assertion',
  ])
  await upstream.close()
  await slow.close()
})

test('503 SYSTEM.UNAVAILABLE for a full queue; streams have their own', async () => {
  const held: Socket[] = []
  const slow = await startRawUpstream((socket) => void held.push(socket))
  const settings = upstreamAt(slow.url, { concurrency: 1, queue: 0 })
  const upstream = openUpstream(settings)
  const whole = upstream.handle(arrivedCall(listTimezones))
  const streamed = upstream.handle(arrivedCall(downloadFile, { params: { file_id: 'a' } }))
  await expect.poll(() => held).toHaveLength(2)
  await expect(upstream.handle(arrivedCall(listTimezones))).rejects.toMatchObject({
    code: 'SYSTEM.UNAVAILABLE',
    detail: { retryAfter: 1 },
  })
  for (const socket of held) socket.write(json([]))
  expect(await whole).toEqual([])
  const reply = await streamed
  expect(reply instanceof StreamReply && String(await reply.body.toArray())).toBe('[]')
  await upstream.close()
  await slow.close()
})

test('a failure and its retry count once', async () => {
  const failing = await startRawUpstream((socket) => void socket.destroy())
  const settings = upstreamAt(failing.url, { breaker: { failures: 3, openMs: 60_000 } })
  const upstream = openUpstream(settings)
  const sendFrom = (clientIp: string) =>
    refusalOf(upstream.handle(Object.assign(arrivedCall(listTimezones), { clientIp })))
  for (const address of ['192.0.2.1', '198.51.100.2']) expect(await sendFrom(address)).toBe(invalid)
  expect(failing.requests()).toBe(4)
  expect(await sendFrom('192.0.2.1')).toBe(invalid)
  expect(await sendFrom('198.51.100.2')).toBe('SYSTEM.UNAVAILABLE')
  expect(failing.requests()).toBe(6)
  await upstream.close()
  await failing.close()
})

test.each(['401 Unauthorized', '302 Found', '500 Oops', '502 Bad Gateway', '503 Later', '504 Late'])(
  'a GET is not retried after a complete reply: %s',
  async (status) => {
    const replying = await startRawUpstream((socket) => void socket.write(rawResponse(status, {}, '')))
    const settings = upstreamAt(replying.url)
    const upstream = openUpstream(settings)
    for (const operation of [listTimezones, downloadFile]) {
      const call = arrivedCall(operation, { params: { file_id: 'a' } })
      expect(await refusalOf(upstream.handle(call))).toMatch(/^SYSTEM\.U/)
    }
    expect(replying.requests()).toBe(2)
    await upstream.close()
    await replying.close()
  },
)

test('a reply that does not match its schema is an invalid response of the upstream', async () => {
  const upstream = openUpstream(upstreamAt('http://127.0.0.1:1'))
  expect(upstream.replyError('here')).toMatchObject({ code: 'SYSTEM.UPSTREAM_INVALID_RESPONSE' })
  await upstream.close()
})
