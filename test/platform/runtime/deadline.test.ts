import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { expect, test } from 'vitest'
import { readBody } from '../../../src/gateway/pipeline/stages/body.ts'
import { fetchText } from '../../../src/platform/http-client.ts'

async function listen(server: Server): Promise<number> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

const timeoutMs = 2_000
/** Blocks until the deadline has passed. */
function writeAndBlock(socket: Socket, written: string): void {
  socket.write(written)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, timeoutMs + 500)
}

test('fetchText: a response that arrived while this process was blocked is in time', async () => {
  const server = createServer()
  const port = await listen(server)
  const response = fetchText(`http://127.0.0.1:${port}/`, { timeoutMs, maxBytes: 100 })
  const [socket] = await once(server, 'connection')
  await once(socket, 'data')
  writeAndBlock(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntext')
  expect(await response).toMatchObject({ status: 200, ok: true, text: 'text' })
  socket.destroy()
  server.close()
})

test('readBody: a body that arrived while this process was blocked is in time', async () => {
  const server = createHttpServer()
  const client = connect(await listen(server), '127.0.0.1')
  client.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\nhalf ')
  const [request] = await once(server, 'request')
  const body = readBody(request, 100, timeoutMs)
  await once(request, 'data')
  writeAndBlock(client, 'and half')
  expect(String(await body)).toBe('half and half')
  client.destroy()
  server.close()
})
