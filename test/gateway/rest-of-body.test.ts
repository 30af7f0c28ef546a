import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { endInHalves, readAway } from '../../src/gateway/rest-of-body.ts'

const most = 2 * 1024 * 1024
let answered: Promise<boolean>
let resolve: (isRead: boolean) => void
const server = createServer((request, response) => {
  // As whoever has begun to read it leaves it; what nobody has begun with Node reads away by itself.
  request.on('data', () => undefined).pause()
  resolve(readAway(request))
  if (request.url === '/halves') endInHalves(request)
  response.shouldKeepAlive = request.url !== '/halves'
  response.end('no')
})
server.keepAliveTimeout = 0
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
afterEach(() => void vi.useRealTimers())
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const portOf = (): number => {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}
const open = (): Socket => connect(portOf(), '127.0.0.1').on('error', () => undefined)
/** What becomes of a request with these fields, which is refused as it begins. */
const refused = (socket: Socket, fields: string, path = '/'): Promise<boolean> => {
  ;({ promise: answered, resolve } = Promise.withResolvers<boolean>())
  socket.write(`POST ${path} HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`)
  return answered
}

test.each([
  [`content-length: ${most}`, true],
  [`content-length: ${most + 1}`, false],
  ['transfer-encoding: chunked', false],
])('of a refused body only what is announced, and no more than 2 MB, is read away: %s', async (fields, isRead) => {
  const socket = open()
  expect(await refused(socket, fields)).toBe(isRead)
  socket.destroy()
})

test('one that comes leaves its connection to the next request, and no timer that would end it', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const socket = open()
  for (let round = 1; round <= 2; round++) {
    expect(await refused(socket, 'content-length: 3')).toBe(true)
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 200/)
    socket.write('abc')
    await expect.poll(() => vi.getTimerCount()).toBe(0)
  }
  socket.destroy()
})

test('one that does not come is waited for two seconds, and its connection ends', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const socket = open()
  await refused(socket, 'content-length: 3')
  await once(socket, 'data')
  const closed = once(socket, 'close')
  vi.advanceTimersByTime(1_999)
  expect(await Promise.race([closed, new Promise((done) => setImmediate(done, 'open'))])).toBe('open')
  vi.advanceTimersByTime(1)
  await closed
})

test('a connection that ends in halves ends whole when the rest has come, and in two seconds if it does not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const ending = async (fields: string) => {
    const socket = connect({ port: portOf(), host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined)
    expect(await refused(socket, fields, '/halves')).toBe(false)
    await once(socket.resume(), 'end')
    expect(vi.getTimerCount()).toBe(1)
    return socket
  }
  const whole = await ending('transfer-encoding: chunked')
  whole.write('3\r\nabc\r\n0\r\n\r\n')
  await expect.poll(() => vi.getTimerCount()).toBe(0)
  whole.destroy()
  const never = await ending(`content-length: ${most + 1}`)
  vi.advanceTimersByTime(2_000)
  await expect.poll(() => vi.getTimerCount()).toBe(0)
  never.destroy()
})
