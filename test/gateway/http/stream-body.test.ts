import { once } from 'node:events'
import { createServer, get } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DownloadPace, sendStreamBody } from '../../../src/gateway/http/stream-body.ts'
import { StreamReply } from '../../../src/kernel/index.ts'

let reply: StreamReply
let sent: PromiseWithResolvers<unknown>
let pace: DownloadPace | null = null

const server = createServer((_request, response) => {
  response.writeHead(reply.status, reply.headers)
  sendStreamBody(reply.body, reply.headers['content-length'], response, pace).then(
    () => sent.resolve('sent'),
    sent.resolve,
  )
})
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** Includes the bytes that the client received. */
function send(length: number | null, body: Readable, client: 'takes all' | 'goes away' = 'takes all') {
  reply = new StreamReply(200, length === null ? {} : { 'content-length': String(length) }, body)
  sent = Promise.withResolvers()
  const arrived = Promise.withResolvers<string>()
  const isBrokenOff = () => arrived.resolve('broken off')
  const address = server.address()
  get({ port: typeof address === 'object' ? address?.port : 0, host: '127.0.0.1' }, (response) => {
    if (client === 'goes away') response.destroy()
    else text(response).then(arrived.resolve, isBrokenOff)
  }).on('error', isBrokenOff)
  return { sent: sent.promise, arrived: arrived.promise }
}
function chunks(...texts: string[]) {
  return Readable.from(texts.map((each) => Buffer.from(each)))
}

test.each([3, null])('a stream arrives complete, with or without an announced length: %s', async (length) => {
  const { sent, arrived } = send(length, chunks('ab', 'c'))
  expect([await sent, await arrived]).toEqual(['sent', 'abc'])
})

test('a stream shorter than announced destroys the connection and fails', async () => {
  const { sent, arrived } = send(4, chunks('ab', 'c'))
  expect(await sent).toMatchObject({ message: 'stream length differs from the announced 4 bytes' })
  expect(await arrived).toBe('broken off')
})

test('a stream longer than announced fails, and the surplus is not sent', async () => {
  const { sent, arrived } = send(2, chunks('ab', 'c', 'd'))
  expect(await sent).toMatchObject({ message: 'stream length differs from the announced 2 bytes' })
  expect(['ab', 'broken off']).toContain(await arrived)
})

function endlessly() {
  return new Readable({
    read() {
      this.push(Buffer.alloc(65_536))
    },
  })
}

test('a stream longer than announced is not read further, and its source is destroyed', async () => {
  const endless = endlessly()
  const { sent } = send(65_536, endless)
  expect(await sent).toMatchObject({ message: 'stream length differs from the announced 65536 bytes' })
  expect(endless.destroyed).toBe(true)
})

test('a client that closes the connection causes no server error, and the source is destroyed', async () => {
  const endless = endlessly()
  const { sent } = send(null, endless, 'goes away')
  expect(await sent).toMatchObject({ code: 'REQUEST.MALFORMED', detail: { internal: 'client disconnected' } })
  expect(endless.destroyed).toBe(true)
})

test('a failing source reports its error and destroys the connection', async () => {
  const why = new Error('the disk is gone')
  const { sent, arrived } = send(
    null,
    new Readable({
      read() {
        this.destroy(why)
      },
    }),
  )
  expect([await sent, await arrived]).toEqual([why, 'broken off'])
})

describe('a client with a minimum speed of 1 MiB/s', () => {
  beforeAll(() => {
    pace = { stallMs: 300, bytesPerSecond: 1_048_576 }
  })
  afterAll(() => {
    pace = null
  })

  test('a client that reads a little at a time is disconnected', async () => {
    const endless = endlessly()
    reply = new StreamReply(200, {}, endless)
    sent = Promise.withResolvers()
    const address = server.address()
    get({ port: typeof address === 'object' ? address?.port : 0, host: '127.0.0.1' }, (response) => {
      response.on('error', () => undefined)
      const timer = setInterval(() => response.read(10), 20)
      response.on('close', () => clearInterval(timer))
    }).on('error', () => undefined)
    expect(await sent.promise).toMatchObject({
      code: 'REQUEST.TIMEOUT',
      detail: { internal: expect.stringMatching(/^the client (reads|does not read)/) },
    })
    expect(endless.destroyed).toBe(true)
  })

  test('a slow source does not count against its client', async () => {
    const slowly = Readable.from(
      (async function* () {
        for (let part = 0; part < 5; part++) {
          await pause(200)
          yield Buffer.from('part')
        }
      })(),
    )
    const { sent, arrived } = send(20, slowly)
    expect([await sent, await arrived]).toEqual(['sent', 'part'.repeat(5)])
  })
})
