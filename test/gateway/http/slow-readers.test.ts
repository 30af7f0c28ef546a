import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import express from 'express'
import { afterEach, expect, test } from 'vitest'
import { createHttpServer } from '../../../src/gateway/index.ts'
import { sendRaw } from '../../harness/raw.ts'
import { testSettings } from '../../harness/settings.ts'

const stallMs = 200
/** More than the buffers of a socket. */
const long = 'x'.repeat(16 * 1024 * 1024)

let server: Server
let port = 0
let served = 0

async function listen(body: string, afterMs = 0): Promise<void> {
  const app = express()
  app.use(async (_request, response) => {
    served += 1
    await pause(afterMs)
    response.end(body)
  })
  server = createHttpServer({
    upgrades: null,
    app,
    settings: { ...testSettings({}).requests, downloadStallMs: stallMs },
    isTuned: true,
    isDraining: () => false,
    onParseError: () => undefined,
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  port = typeof address === 'object' && address ? address.port : 0
}
afterEach(() => {
  served = 0
  server.closeAllConnections()
  server.close()
})

const get = 'GET / HTTP/1.1\r\nHost: portico.test\r\n\r\n'
function openSocket(text: string): Socket {
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined)
  socket.write(text)
  return socket
}
function connections() {
  return new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
}

test('a response that its client does not read ends the connection', async () => {
  await listen(long)
  const accepted = once(server, 'connection')
  const socket = openSocket(get).pause()
  await accepted
  await expect.poll(connections).toBe(0)
  socket.destroy()
})

test('a response that takes longer to compute is awaited', async () => {
  await listen('served', 3 * stallMs)
  expect((await sendRaw(`http://127.0.0.1:${port}`, get, 4 * stallMs)).status).toBe(200)
})

test.each([
  [10, 10, false],
  [200, 17, true],
])('of %d pipelined requests %d are answered, the rest needs a new connection', async (text, answered, closed) => {
  await listen('served', 20)
  const reply = await sendRaw(`http://127.0.0.1:${port}`, get.repeat(text))
  expect([reply.responses, served, reply.closed]).toEqual([answered, answered, closed])
})

test('a connection may be idle between responses any number of times', async () => {
  await listen('served', 5)
  const socket = openSocket('')
  for (let round = 1; round <= 4; round++) {
    socket.write(get.repeat(10))
    await expect.poll(() => served).toBe(10 * round)
    await pause(50)
  }
  socket.destroy()
})
