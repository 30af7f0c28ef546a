import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { answerOverRest } from '../../src/gateway/rest-of-body.ts'

const server = createServer(async (request, response) => {
  // As whoever has begun to read it leaves it; what nobody has begun with Node reads away by itself.
  request.on('data', () => undefined).pause()
  await turn()
  answerOverRest(request, response)
  response.end('no')
})
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'))
afterEach(() => void vi.useRealTimers())
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

/** One that has sent a request, and has its answer. */
const answered = async (fields: string, body = '') => {
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => undefined)
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n${body}`)
  return { socket, answer: String((await once(socket, 'data'))[0]) }
}

test.each([
  ['content-length: 0', ''],
  ['content-length: 3', 'abc'],
  ['transfer-encoding: chunked', '3\r\nabc\r\n0\r\n\r\n'],
])('an answer over a body that is there (%s) leaves its connection to the next request', async (fields, body) => {
  const { socket, answer } = await answered(fields, body)
  expect(answer).toMatch(/\r\nConnection: keep-alive\r\n/)
  socket.destroy()
})

test('over one that is not, it is the last: the connection ends whole when the rest has come, and in two seconds if it does not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const ending = async (fields: string, begun?: string) => {
    const { socket, answer } = await answered(fields, begun)
    expect(answer).toMatch(/\r\nConnection: close\r\n/)
    await once(socket.resume(), 'end')
    expect(vi.getTimerCount()).toBe(1)
    return socket
  }
  const whole = await ending('transfer-encoding: chunked')
  whole.write('3\r\nabc\r\n0\r\n\r\n')
  await expect.poll(() => vi.getTimerCount()).toBe(0)
  whole.destroy()
  const never = await ending('content-length: 3', 'ab')
  vi.advanceTimersByTime(1_999)
  expect(vi.getTimerCount()).toBe(1)
  vi.advanceTimersByTime(1)
  await expect.poll(() => vi.getTimerCount()).toBe(0)
  never.destroy()
})
