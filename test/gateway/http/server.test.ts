import { once } from 'node:events'
import type { Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import express from 'express'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createHttpServer } from '../../../src/gateway/index.ts'
import { testSettings } from '../../harness/settings.ts'

let server: Server
let port = 0
const uncaught: unknown[] = []
function note(error: unknown) {
  return void uncaught.push(error)
}

beforeAll(async () => {
  server = createHttpServer({
    upgrades: null,
    app: express(),
    settings: testSettings({}).requests,
    isTuned: true,
    isDraining: () => false,
    onParseError: () => undefined,
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  port = typeof address === 'object' && address ? address.port : 0
})
beforeEach(() => void process.on('uncaughtException', note))
afterEach(() => void process.off('uncaughtException', note))
afterAll(() => server.close())

function openSocket(text: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined)
  socket.write(text)
  return socket
}
const tunnel = 'CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n\r\n'
function connections() {
  return new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
}

test('CONNECT 405: closes the connection, even if the client keeps its side open', async () => {
  const socket = openSocket(tunnel)
  const [response] = await once(socket, 'data')
  expect(String(response)).toMatch(/^HTTP\/1\.1 405 .*\r\nAllow:\r\n/)
  await expect.poll(connections).toBe(0)
  socket.destroy()
})

test('CONNECT from clients that disconnect early does not crash the process', async () => {
  for (let client = 0; client < 300; client++) {
    const socket = openSocket(tunnel)
    await once(socket, 'connect')
    if (client % 2 === 0) await new Promise((resolve) => setTimeout(resolve, client % 3))
    socket.resetAndDestroy()
    await once(socket, 'close')
  }
  await expect.poll(connections).toBe(0)
  expect(uncaught).toEqual([])
})

test("keep-alive is longer than that of load balancers, including Google's fixed 600 s", async () => {
  const socket = openSocket('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [response] = await once(socket, 'data')
  expect(Number(/\r\nKeep-Alive: timeout=(\d+)\r\n/.exec(String(response))?.[1])).toBeGreaterThan(600)
  socket.destroy()
})

test.each([true, false])(
  'createHttpServer, isTuned %s: requests and responses have the methods of Express',
  async (isTuned) => {
    const app = express()
    app.get('/', (request, response) => void response.json({ isExpress: typeof request.get === 'function' }))
    const other = createHttpServer({
      upgrades: null,
      app,
      settings: testSettings({}).requests,
      isTuned,
      isDraining: () => false,
      onParseError: () => undefined,
    })
    await once(other.listen(0, '127.0.0.1'), 'listening')
    const address = other.address()
    const url = `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/`
    expect(await (await fetch(url)).json()).toEqual({ isExpress: true })
    expect(Object.hasOwn(app.request, 'constructor') && app.request.constructor.name === 'AppRequest').toBe(isTuned)
    other.close()
  },
)
