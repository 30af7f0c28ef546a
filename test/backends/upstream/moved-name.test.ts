import dns, { type LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { createServer, get, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { sendRequest } from '../../../src/backends/upstream/client.ts'
import { openAgent, openPool } from '../../../src/backends/upstream/connection.ts'
import { upstream } from '../../../src/config/backends.ts'
import { systemDurations } from '../../../src/platform/runtime/index.ts'

const [before, after] = ['127.0.0.2', '127.0.0.3']
/** Every connection is older, and each address is looked up again. */
const pastMaxAgeMs = 50_000
let tests = 0

describe('a service moves to another address', () => {
  let servers: Server[] = []
  let addresses: string[] = []
  let url = ''
  let respond: (address: string) => RequestListener
  const listen = async (address: string, port: number): Promise<number> => {
    const server = createServer((request, response) => respond(address)(request, response))
    servers.push(server)
    await once(server.listen(port, address), 'listening')
    return (server.address() as AddressInfo).port
  }

  beforeEach(async () => {
    // Sockets and deadlines run in real time.
    vi.useFakeTimers({ toFake: ['Date', 'performance'] })
    respond = (address) => (_request, response) => void response.end(address)
    servers = []
    addresses = [before]
    const port = await listen(before, 0)
    await listen(after, port)
    // The process caches names.
    url = `http://moved-${tests++}.test:${port}`
    vi.spyOn(dns.promises, 'lookup').mockImplementation(async (): Promise<LookupAddress & LookupAddress[]> => {
      const found = addresses.map((address) => ({ address, family: 4 }))
      return Object.assign(found, { address: '', family: 4 })
    })
  })
  afterEach(() => {
    vi.restoreAllMocks()
    vi.useRealTimers()
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
  })

  const place = (connections: number) => upstream.parse({ url, audience: 'moved', connections })
  const rounds = (requests: number, request: () => Promise<string>) =>
    Promise.all(Array.from({ length: requests }, request))

  const openPoolCaller = (connections: number) => {
    const pool = openPool(place(connections))
    const limits = { maxReplyBytes: 100, durations: systemDurations, remainingMs: 10_000 }
    const request = async () => {
      const reply = await sendRequest(pool, { method: 'GET', path: '/' }, limits)
      return reply.bytes.toString()
    }
    return { request, close: () => pool.close() }
  }
  const openAgentCaller = (connections: number) => {
    const agent = openAgent(place(connections), systemDurations)
    const request = async () => {
      const [response] = await once(get(url, { agent }), 'response')
      return text(response)
    }
    return { request, close: async () => agent.destroy() }
  }

  test.each([
    ['calls', openPoolCaller],
    ['streams, prefixes and sockets', openAgentCaller],
  ])('%s: use the new address within a minute, and no request is lost', async (_, open) => {
    // More requests than connections: the connections are never idle.
    const { request, close } = open(2)
    expect(new Set(await rounds(20, request))).toEqual(new Set([before]))
    addresses = [after]
    expect(new Set(await rounds(20, request))).toEqual(new Set([before]))
    vi.advanceTimersByTime(pastMaxAgeMs)
    const moving = await rounds(20, request)
    expect(moving.filter((address) => address === before).length).toBeLessThan(10)
    expect(new Set(await rounds(20, request))).toEqual(new Set([after]))
    await close()
  })

  test('calls: a connection is replaced only after the reply that it waits for', async () => {
    const { request, close } = openPoolCaller(2)
    const held = Promise.withResolvers<void>()
    const isReceived = Promise.withResolvers<void>()
    respond = (address) => async (_request, response) => {
      isReceived.resolve()
      await held.promise
      response.end(address)
    }
    const slow = request()
    await isReceived.promise
    respond = (address) => (_request, response) => void response.end(address)
    addresses = [after]
    vi.advanceTimersByTime(pastMaxAgeMs)
    expect(new Set(await rounds(5, request))).toEqual(new Set([after]))
    held.resolve()
    expect(await slow).toBe(before)
    await close()
  })

  test.each([
    ['calls', openPoolCaller],
    ['streams, prefixes and sockets', openAgentCaller],
  ])('%s: connections that opened together close at different times', async (_, open) => {
    const { request, close } = open(40)
    respond = (address) => (_request, response) => void setTimeout(() => response.end(address), 50)
    await rounds(40, request)
    await rounds(40, request)
    addresses = [after]
    vi.advanceTimersByTime(37_000)
    await rounds(40, request)
    const moved = (await rounds(40, request)).filter((address) => address === after).length
    expect(moved).toBeGreaterThan(2)
    expect(moved).toBeLessThan(38)
    await close()
  })

  test('calls: a new replica gets its share of the connections', async () => {
    const { request, close } = openPoolCaller(4)
    respond = (address) => (_request, response) => void setTimeout(() => response.end(address), 20)
    await rounds(4, request)
    addresses = [before, after]
    vi.advanceTimersByTime(pastMaxAgeMs)
    const answers = await rounds(4, request)
    expect(new Set(answers)).toEqual(new Set([before, after]))
    await close()
  })
})
