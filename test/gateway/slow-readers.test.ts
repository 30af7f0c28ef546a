import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import express from 'express'
import { afterEach, expect, test } from 'vitest'
import { guardServer } from '../../src/gateway/index.ts'
import { sendRaw } from '../harness/raw.ts'
import { testSettings } from '../harness/settings.ts'

const stallMs = 200
/** More than a socket's own buffers hold. */
const long = 'x'.repeat(16 * 1024 * 1024)

let server: Server
let port = 0

/** The listener before an app that answers everything with `body`, after a while. */
const listen = async (body: string, afterMs = 0): Promise<void> => {
  const app = express()
  app.use(async (_request, response) => {
    await pause(afterMs)
    response.end(body)
  })
  server = guardServer(app, { ...testSettings({}).requests, downloadStallMs: stallMs }, () => false)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  port = typeof address === 'object' && address ? address.port : 0
}
afterEach(() => {
  server.closeAllConnections()
  server.close()
})

const get = 'GET / HTTP/1.1\r\nHost: portico.test\r\n\r\n'
const asking = (asked: string): Socket => {
  const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined)
  socket.write(asked)
  return socket
}
const connections = () => new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))

test('an answer of which its client takes nothing ends the connection: nobody holds its bytes for ever', async () => {
  await listen(long)
  const socket = asking(get).pause()
  await expect.poll(connections).toBe(1)
  await expect.poll(connections, { timeout: 2_000 }).toBe(0)
  socket.destroy()
})

test('an answer that takes longer to be made is waited for', async () => {
  await listen('served', 3 * stallMs)
  expect((await sendRaw(`http://127.0.0.1:${port}`, get, 4 * stallMs)).status).toBe(200)
})
