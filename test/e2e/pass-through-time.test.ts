import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { recheckMs } from '../../src/gateway/pipeline/open-streams.ts'
import { upstreamAt } from '../harness/settings.ts'
import { openEvents, type PassThroughWorld, paths, readerOf, startPassThroughWorld } from './pass-through-world.ts'

const stallMs = 1_000

describe('time limits of event streams', () => {
  let world: PassThroughWorld
  beforeAll(async () => {
    world = await startPassThroughWorld((settings, url) => {
      // Longer than the idle timeout of a stream.
      const timeoutMs = 10_000_000
      settings.backends.feed = upstreamAt(`${url}/base`, { audience: 'service-under-test', timeoutMs })
      settings.streams = { ...settings.streams, maxPerAddress: 2 }
      settings.requests.downloadStallMs = stallMs
      // Longer than the test of the shutdown may take.
      settings.shutdown = { delayMs: 0, timeoutMs: 600_000 }
    })
  })
  afterEach(() => world.durations.resume())
  afterAll(() => world?.stop())

  const idleMs = () => world.portico.settings.streams.idleTimeoutMs

  const lastEnd = () => world.portico.log.filter(({ streamEnd }) => streamEnd !== undefined).at(-1)?.streamEnd

  test('feed.watch: an idle stream ends in an orderly way, and the service notices it', async () => {
    const closed = Promise.withResolvers<void>()
    world.service.respond((_request, response) => {
      response.on('close', () => closed.resolve())
      openEvents(response)
    })
    world.durations.stop()
    const reader = readerOf(await world.open(paths.watch))
    expect(await reader.next()).toBe('data: first\n\n')
    world.durations.skip(idleMs() - 1)
    await pause(50)
    expect(lastEnd()).toBeUndefined()
    world.durations.skip(recheckMs)
    await reader.end()
    await closed.promise
    await expect.poll(lastEnd).toBe('idle')
  })

  test('feed.watch 503 SYSTEM.UNAVAILABLE: the stream ended before the service sent its head', async () => {
    const closed = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<ServerResponse>()
    world.service.respond((_request, response) => {
      response.on('close', () => closed.resolve())
      asked.resolve(response)
    })
    world.durations.stop()
    const opened = world.open(paths.watch)
    const late = await asked.promise
    world.durations.skip(idleMs() + recheckMs)
    openEvents(late)
    const response = await opened
    expect([response.status, (await response.json()).code]).toEqual([503, 'SYSTEM.UNAVAILABLE'])
    await closed.promise
    expect(await world.metric('portico_open_streams')).toContain('portico_open_streams{operation="feed.watch"} 0')
  })

  test('feed.watch: a busy stream ends after its lifetime', async () => {
    const { maxLifetimeMs } = world.portico.settings.streams
    let send = (_text: string): boolean => false
    world.service.respond((_request, response) => {
      send = openEvents(response)
    })
    world.durations.stop()
    const reader = readerOf(await world.open(paths.watch))
    await reader.next()
    let atMs = 0
    for (; atMs + idleMs() < maxLifetimeMs; atMs += idleMs() - 1) {
      world.durations.skip(idleMs() - 1)
      send('again')
      expect(await reader.next()).toBe('data: again\n\n')
    }
    world.durations.skip(maxLifetimeMs - atMs + recheckMs)
    await reader.end()
    await expect.poll(lastEnd).toBe('lifetime')
    expect((await world.metric('portico_streams_ended_total')).join()).toContain('reason="lifetime"')
  })

  test('feed.watch: a client that reads nothing is disconnected, also while the service sends more', async () => {
    const closed = Promise.withResolvers<void>()
    world.service.respond((_request, response) => {
      const send = openEvents(response)
      const timer = setInterval(() => send('x'.repeat(200_000)), 5)
      response.on('close', () => {
        clearInterval(timer)
        closed.resolve()
      })
    })
    const { hostname, port } = new URL(world.portico.urls[0] ?? '')
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => undefined)
    const lines = Object.entries({ ...world.headers(), host: 'x' }).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`GET ${paths.watch} HTTP/1.1\r\n${lines.join('')}\r\n`)
    await once(socket, 'readable')
    await closed.promise
    socket.destroy()
    await expect
      .poll(() => world.metric('portico_open_streams'))
      .toContain('portico_open_streams{operation="feed.watch"} 0')
  })

  test('feed.news 429 ACCESS.RATE_LIMITED: above the number of open streams per address', async () => {
    world.service.respond((_request, response) => void openEvents(response))
    const anonymous = { authorization: null, 'x-workspace-id': null }
    const open = await Promise.all([1, 2].map(() => world.open(paths.news, anonymous)))
    expect(open.map(({ status }) => status)).toEqual([200, 200])
    const refused = await world.open(paths.news, anonymous)
    expect([refused.status, (await refused.json()).code]).toEqual([429, 'ACCESS.RATE_LIMITED'])
    for (const each of open) await each.body?.cancel()
  })

  test('shutdown: open streams end immediately, and the process does not wait for them', async () => {
    world.service.respond((_request, response) => void openEvents(response))
    const reader = readerOf(await world.open(paths.watch))
    await reader.next()
    const stopped = world.portico.running.stop()
    await reader.end()
    await stopped
    expect(lastEnd()).toBe('shutdown')
  })
})
