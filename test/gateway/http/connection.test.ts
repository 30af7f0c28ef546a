import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { closeIfBodyUnread } from '../../../src/gateway/http/connection.ts'

const server = createServer(async (request, response) => {
  if (request.url === '/in-pieces') {
    closeIfBodyUnread(request, response)
    response.write('no')
    await once(request.resume(), 'end')
    response.end()
    return
  }
  // Node discards a body that was never read.
  request.on('data', () => undefined).pause()
  if (request.url !== '/at-once') await turn()
  closeIfBodyUnread(request, response)
  response.end('no')
})
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
afterEach(() => void vi.useRealTimers())
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

function connections() {
  return new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)))
}
/** `expect.poll` would advance the fake time. */
async function nothingIsLeft() {
  while ((await connections()) > 0 || vi.getTimerCount() > 0) await turn()
}

async function answered(fields: string, body = '', path = '/') {
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined)
  socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n${body}`)
  return { socket, reply: String((await once(socket, 'data'))[0]) }
}

test.each([
  ['content-length: 0', ''],
  ['content-length: 3', 'abc'],
  ['transfer-encoding: chunked', '3\r\nabc\r\n0\r\n\r\n'],
])('a response after a complete body (%s) leaves its connection open for the next request', async (fields, body) => {
  const { socket, reply } = await answered(fields, body)
  expect(reply).toMatch(/\r\nConnection: keep-alive\r\n/)
  socket.destroy()
})

test('a response before the end of an empty body keeps the connection open', async () => {
  const { socket, reply } = await answered('content-length: 0', '', '/at-once')
  expect(reply).toMatch(/\r\nConnection: keep-alive\r\n/)
  socket.destroy()
})

test('a connection whose body ends during its last response closes with that response', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { socket, reply } = await answered('content-length: 3', 'ab', '/in-pieces')
  expect(reply).toMatch(/\r\nConnection: close\r\n/)
  socket.resume().write('c')
  await nothingIsLeft()
  socket.destroy()
})

test('an unread body closes the connection once it has arrived, and after two seconds at the latest', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const ending = async (fields: string, begun?: string) => {
    const { socket, reply } = await answered(fields, begun)
    expect(reply).toMatch(/\r\nConnection: close\r\n/)
    await once(socket.resume(), 'end')
    expect(vi.getTimerCount()).toBe(1)
    return socket
  }
  const whole = await ending('transfer-encoding: chunked')
  whole.write('3\r\nabc\r\n0\r\n\r\n')
  await nothingIsLeft()
  whole.destroy()
  const never = await ending('content-length: 3', 'ab')
  vi.advanceTimersByTime(1_999)
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(1)
  await nothingIsLeft()
  never.destroy()
})
