import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { json, rawResponse } from '../harness/raw-upstream.ts'
import { signInOnly } from '../harness/sign-in.ts'
import { codeOf, type StreamsWorld, soonMs, stallMs, startStreamsWorld } from './streams-world.ts'

const missing = json({ success: false, code: 'RESOURCE.NOT_FOUND', message: '', data: null }, '404 Not Found')

/** Which side the gateway waits for or disconnects, and what it responds. */
describe('slow upstream streams', () => {
  let world: StreamsWorld
  let otherMember: Record<string, string>
  beforeAll(async () => {
    world = await startStreamsWorld()
    const { accessToken } = await signInOnly(world.portico, 'member@demo.test')
    otherMember = { authorization: `Bearer ${accessToken}` }
  })
  beforeEach(() => world.resetTries())
  afterEach(() => world.replaceFiles({}))
  afterAll(() => world?.stop())

  test('files.download: a stream that drips is aborted at the total deadline', async () => {
    const { setBehavior, download, replaceFiles } = world
    await replaceFiles({ streamTimeoutMs: soonMs })
    const timers: NodeJS.Timeout[] = []
    setBehavior((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\n')
      timers.push(setInterval(() => socket.write('x'), 50))
    })
    const start = Date.now()
    await expect((await download()).text()).rejects.toThrow()
    expect(Date.now() - start).toBeLessThan(15_000)
    for (const timer of timers) clearInterval(timer)
  })

  test.each([
    ['files.download', ({ download }: StreamsWorld) => download().then(codeOf)],
    ['files.upload', ({ upload }: StreamsWorld) => upload().then(({ status, body }) => [status, body.code])],
  ])('%s 504: no response within the deadline', async (_name, call) => {
    await world.replaceFiles({ streamTimeoutMs: soonMs })
    world.setBehavior(() => undefined)
    expect(await call(world)).toEqual([504, 'SYSTEM.UPSTREAM_TIMEOUT'])
  })

  test('files.upload 408 for a slow client: does not count as a failure of the upstream', async () => {
    const { setBehavior, respondWith, download, beginUpload, replaceFiles } = world
    await replaceFiles({ streamTimeoutMs: soonMs, breaker: { failures: 1, openMs: 60_000 } })
    setBehavior(() => undefined)
    const [head] = await once(beginUpload(), 'data')
    expect(String(head)).toMatch(/^HTTP\/1\.1 408 .*"REQUEST\.TIMEOUT"/s)
    respondWith(rawResponse('200 OK', { 'content-type': 'text/plain' }, 'abc'))
    expect((await download()).status).toBe(200)
  })

  test.each([
    ['at the deadline', { streamTimeoutMs: 2_000 }, 'the client was too slow for a stream'],
    ['after the stall timeout', { streamTimeoutMs: 10_000 }, 'the client does not read the stream'],
  ])(
    'files.download: a client that does not read is disconnected %s, and the upstream is not blamed',
    async (_name, set, internal) => {
      const { portico, setBehavior, beginDownload, replaceFiles } = world
      await replaceFiles({ maxStreamBytes: 100_000_000, ...set })
      const size = 60_000_000
      setBehavior((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: ${size}\r\n\r\n`)
        socket.write(Buffer.alloc(size, 'x'))
      })
      const id = randomUUID()
      const socket = beginDownload(id)
      const logged = () => portico.log.find(({ requestId }) => requestId === id)
      const cut = { level: 'info', code: 'REQUEST.TIMEOUT', status: 200, internal }
      await expect.poll(logged).toMatchObject(cut)
      socket.destroy()
    },
  )

  test('files.download 200: an upstream may pause for longer than a client', async () => {
    const { setBehavior, download, replaceFiles } = world
    await replaceFiles({ streamTimeoutMs: 10_000 })
    setBehavior(async (socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nha')
      await pause(stallMs + 300)
      socket.write('lf')
    })
    const response = await download()
    expect([response.status, await response.text()]).toEqual([200, 'half'])
  })

  test('files.read 404 in time: slow streams do not occupy the concurrency of other requests', async () => {
    const { setBehavior, respondWith, tries, read, download, beginUpload, replaceFiles } = world
    const held: Socket[] = []
    setBehavior((socket, request) => {
      if (/^GET \S+(?<!\/download) HTTP/.test(request)) socket.write(missing)
      else held.push(socket)
    })
    // A stream that times out would free its slot. One caller gets three of four slots.
    await replaceFiles({ streamTimeoutMs: 100_000, concurrency: 4 })
    const uploads = Array.from({ length: 3 }, beginUpload)
    await expect.poll(tries).toBe(uploads.length)
    const slow = download(otherMember)
    await expect.poll(tries).toBe(4)
    expect(await read()).toEqual([404, 'RESOURCE.NOT_FOUND'])
    for (const each of uploads) each.destroy()
    held.at(-1)?.write(missing)
    expect((await slow).status).toBe(404)
    respondWith(missing)
    // Uploads count against the limit until the gateway notices the disconnect.
    await expect.poll(async () => (await download()).status).toBe(404)
  })

  test('files.download 200: a change of placement does not abort a download in progress', async () => {
    const { setBehavior, download, replaceFiles } = world
    await replaceFiles({ streamTimeoutMs: 20_000 })
    const accepted = Promise.withResolvers<Socket>()
    setBehavior((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 8\r\n\r\nhalf')
      accepted.resolve(socket)
    })
    const response = await download()
    await replaceFiles({})
    ;(await accepted.promise).write('half')
    expect(await response.text()).toBe('halfhalf')
  })

  describe('the circuit breaker', () => {
    const openCircuit = async (openMs: number): Promise<void> => {
      const { setBehavior, download, replaceFiles } = world
      await replaceFiles({ streamTimeoutMs: 20_000, breaker: { failures: 2, openMs } })
      setBehavior((socket) => void socket.destroy())
      for (const caller of [{}, otherMember]) expect((await download(caller)).status).toBe(502)
    }

    test('files.read 404: failed streams do not open it', async () => {
      const { respondWith, download, read } = world
      await openCircuit(60_000)
      respondWith(missing)
      expect(await codeOf(await download())).toEqual([503, 'SYSTEM.UNAVAILABLE'])
      expect(await read()).toEqual([404, 'RESOURCE.NOT_FOUND'])
      expect(await codeOf(await download())).toEqual([503, 'SYSTEM.UNAVAILABLE'])
    })

    test('files.download 404: others test the upstream, too, while a slow upload does', async () => {
      const { durations, setBehavior, respondWith, tries, download, read, beginUpload } = world
      await openCircuit(10_000)
      durations.skip(10_000)
      setBehavior(() => undefined)
      const before = tries()
      const slow = beginUpload()
      await expect.poll(tries).toBe(before + 1)
      respondWith(missing)
      expect(await read()).toEqual([404, 'RESOURCE.NOT_FOUND'])
      const downloaded = async () => (await download(otherMember)).status
      expect(await downloaded()).toBe(503)
      // Another probe is admitted each second.
      durations.skip(1_000)
      expect(await downloaded()).toBe(404)
      expect(slow.bytesRead, 'the slow upload is still open').toBe(0)
      slow.destroy()
    })
  })

  test('a client that disconnects aborts the request to the upstream', async () => {
    const { setBehavior, tries, beginUpload, replaceFiles } = world
    // Long enough that the deadline does not abort the stream first.
    await replaceFiles({ streamTimeoutMs: 20_000 })
    let isClosed = false
    setBehavior((socket) => {
      socket.once('close', () => {
        isClosed = true
      })
    })
    const socket = beginUpload()
    await expect.poll(tries).toBe(1)
    expect(isClosed).toBe(false)
    socket.destroy()
    await expect.poll(() => isClosed).toBe(true)
  })
})
