import { once } from 'node:events'
import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { setTimeout as pause, setImmediate as turnOfLoop } from 'node:timers/promises'
import { Registry } from 'prom-client'
import { Pool } from 'undici'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createBackends, createUpstreamMetrics } from '../../src/backends/index.ts'
import { createRoutes } from '../../src/backends/routes.ts'
import { listTimezones } from '../../src/banking/constants/contract.ts'
import { downloadFile, uploadFile } from '../../src/banking/files/contract.ts'
import { bankingCatalogue } from '../../src/contract/index.ts'
import type { Call, IncomingRequest } from '../../src/gateway/pipeline/call.ts'
import { type Operation, Refusal, StreamReply } from '../../src/kernel/index.ts'
import { arrivedCall } from '../harness/call.ts'
import { createMovableDurations, type MovableDurations } from '../harness/durations.ts'
import { json, startRawUpstream } from '../harness/raw-upstream.ts'
import { testSettings, upstreamAt } from '../harness/settings.ts'
import { openUpstream, trialsOf } from '../harness/upstream.ts'
import { testClock } from '../identity/clock.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

const inProcess = {
  handle: async () => null,
  replyError: () => new Refusal('SYSTEM.INTERNAL_ERROR'),
  maxReplyBytes: () => 1_024,
}
let durations: MovableDurations
beforeEach(() => {
  durations = createMovableDurations()
})

function routesTo(
  backends: Parameters<typeof createRoutes>[0]['settings']['backends'],
  registry: Registry = new Registry(),
) {
  return createRoutes({
    catalogue: bankingCatalogue,
    inProcess,
    settings: { ...testSettings({}), backends },
    signer: { sign: async () => 'an assertion' },
    clock: testClock(),
    durations,
    metrics: createUpstreamMetrics(registry),
    trials: trialsOf(registry, durations),
  })
}

test('domains with equal settings share an upstream and its breaker', async () => {
  const at = (timeoutMs: number) => upstreamAt('http://127.0.0.1:9', { timeoutMs })
  const { backendOf, close } = await routesTo({
    default: at(100),
    constants: at(200),
    files: at(200),
    profile: at(300),
    wallets: 'in-process',
  })
  expect(backendOf('files')).toBe(backendOf('constants'))
  expect(backendOf('roles')).toBe(backendOf('exchanges'))
  expect(new Set(['files', 'profile', 'roles', 'wallets'].map(backendOf)).size).toBe(4)
  expect(backendOf('wallets')).toBe(inProcess)
  await close()
})

test('retire: closes the connections after the longest timeout plus one second', async () => {
  const left = new Map<object, Promise<unknown>>()
  const misbehaving = await startRawUpstream((socket) => {
    if (!left.has(socket)) left.set(socket, once(socket, 'close'))
    socket.write(json([]))
  })
  const at = (timeoutMs: number, streamTimeoutMs: number) => upstreamAt(misbehaving.url, { timeoutMs, streamTimeoutMs })
  const { backendOf, retire } = await routesTo({
    default: 'in-process',
    constants: at(10_000, 20_000),
    files: at(10_000, 30_000),
    profile: at(10_000, 10_000),
  })
  const request = async () => {
    await backendOf('constants').handle(checkedCall(listTimezones))
    const upload = checkedCall(uploadFile)
    upload.upload = { contentType: 'multipart/form-data; boundary=b', bytes: Readable.from([Buffer.from('--b--')]) }
    await backendOf('files').handle(upload)
  }
  await request()
  durations.stop()
  retire()
  durations.skip(30_999)
  await request()
  durations.skip(1)
  await Promise.all(left.values())
  // The backend reuses one connection for streams and one for other calls.
  expect(left.size).toBe(2)
  await misbehaving.close()
})

test('close: may be called twice and cancels the timer of retire', async () => {
  const { retire, close } = await routesTo({ default: upstreamAt('http://127.0.0.1:9') })
  retire()
  expect(durations.timers()).toBe(1)
  await Promise.all([close(), close()])
  expect(durations.timers()).toBe(0)
  await expect(close()).resolves.toBeUndefined()
})

test('retire: pools that its timer has closed can be closed again', async () => {
  const { retire, close } = await routesTo({ default: upstreamAt('http://127.0.0.1:9') })
  retire()
  durations.skip(3_600_000)
  await turnOfLoop()
  await expect(close()).resolves.toBeUndefined()
})

test('retire: a pool that cannot be closed causes no unhandled rejection', async () => {
  const unhandled = vi.fn()
  process.once('unhandledRejection', unhandled)
  const { retire } = await routesTo({ default: upstreamAt('http://127.0.0.1:9') })
  vi.spyOn(Pool.prototype, 'close').mockRejectedValue(new Error('already destroyed'))
  retire()
  durations.skip(3_600_000)
  await turnOfLoop()
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
})

test('retire: metrics omit its breakers, which would stay open for ever', async () => {
  const registry = new Registry()
  const breakerStates = async () => (await registry.getSingleMetric('portico_upstream_breaker_state')?.get())?.values
  const { retire, close } = await routesTo({ default: upstreamAt('http://127.0.0.1:9') }, registry)
  expect(await breakerStates()).toHaveLength(1)
  retire()
  expect(await breakerStates()).toEqual([])
  await close()
})

const { assertion } = testSettings({})
function startHere(registry = new Registry(), sign = async (_: { ttlMs: number }) => 'an assertion') {
  return createBackends({
    prefixes: [],
    catalogue: bankingCatalogue,
    ofGateway: new Map(),
    domains: new Map(),
    settings: { ...testSettings({}), assertion, backends: { default: 'in-process' } },
    signer: { sign },
    clock: testClock(),
    durations,
    metrics: createUpstreamMetrics(registry),
    trials: trialsOf(registry, durations),
  })
}

test('replace: changes placements only; assertions keep their lifetime', async () => {
  const service = await startRawUpstream((socket) => socket.write(json([])))
  const lives: number[] = []
  const sign = async ({ ttlMs }: { ttlMs: number }) => `assertion ${lives.push(ttlMs)}`
  const { replace, backendOf, close } = await startHere(new Registry(), sign)
  const changed = { assertion: { ...assertion, ttlMs: 1_000 }, backends: { default: upstreamAt(service.url) } }
  await replace(changed)
  await backendOf(listTimezones).handle(checkedCall(listTimezones))
  expect(lives).toEqual([assertion.ttlMs])
  await close()
  await service.close()
})

test('replace: the last call wins, even if it is ready first, and the other is closed', async () => {
  const registry = new Registry()
  const { replace, backendOf, close } = await startHere(registry)
  const first = backendOf(listTimezones)
  await Promise.all([
    replace({ backends: { default: upstreamAt('http://127.0.0.1:9') } }),
    replace({ backends: { default: 'in-process' } }),
  ])
  expect(backendOf(listTimezones)).toBe(first)
  expect((await registry.getSingleMetric('portico_upstream_breaker_state')?.get())?.values).toEqual([])
  await close()
})

test('files.download: streams wait for a free connection', async () => {
  let connections = 0
  const server = createServer((_request, response) => void response.writeHead(200, { 'content-length': 3 }).write('a'))
  server.on('connection', () => connections++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  const settings = upstreamAt(url, { connections: 1 })
  const upstream = openUpstream(settings)
  const download = () => upstream.handle(checkedCall(downloadFile, { params: { file_id: 'one' } }))
  const first = await download()
  const second = download()
  await pause(100)
  expect([first instanceof StreamReply, connections]).toEqual([true, 1])
  if (first instanceof StreamReply) first.body.destroy()
  const reply = await second
  expect([reply instanceof StreamReply, connections]).toEqual([true, 2])
  if (reply instanceof StreamReply) reply.body.destroy()
  await upstream.close()
  server.closeAllConnections()
  server.close()
})

/** A call whose portal the stages have determined. */
function checkedCall(operation: Operation, facts: Partial<IncomingRequest> = {}): Call {
  const call = arrivedCall(operation, facts)
  call.portal = 'CONSUMER'
  return call
}
