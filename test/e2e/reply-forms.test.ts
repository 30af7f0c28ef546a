import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { own } from '../../src/contract/policies.ts'
import { haproxyIsInstalled, startHaproxy, type TestHaproxy } from '../harness/haproxy.ts'
import { needs } from '../harness/needs.ts'
import { nginxIsInstalled, startNginx, type TestNginx } from '../harness/nginx.ts'
import { type Behaviour, type RawUpstream, startRawUpstream } from '../harness/raw-upstream.ts'
import { upstreamAt } from '../harness/settings.ts'
import { type PassThroughWorld, paths, startPassThroughWorld } from './pass-through-world.ts'

const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n'
const chunked = `${head}transfer-encoding: chunked\r\n\r\n`

describe('replies of a system below a prefix, as programs send them', () => {
  let world: PassThroughWorld
  let service: RawUpstream
  let behave: Behaviour = () => undefined
  let nginx: TestNginx | undefined
  let haproxy: TestHaproxy | undefined

  beforeAll(async () => {
    service = await startRawUpstream((socket, request) => behave(socket, request))
    world = await startPassThroughWorld((settings) => {
      const policy = { ...own, channel: 'none', idempotent: false, changesRights: false } as const
      settings.passThrough = [
        {
          ...upstreamAt(service.url, { audience: 'legacy', breaker: { failures: 1_000, openMs: 200 } }),
          prefix: paths.legacy,
          methods: ['GET', 'POST'],
          policy: { ...policy, workspace: 'required', permission: 'wallet:read' },
          requestHeaders: [],
          responseHeaders: [],
        },
      ]
    })
    const { host } = new URL(world.portico.urls[0] ?? '')
    if (nginxIsInstalled()) nginx = await startNginx({ '/': `http://${host}/` })
    if (haproxyIsInstalled()) haproxy = await startHaproxy([`server one ${host}`])
    for (const { url } of [nginx, haproxy].filter((edge) => edge !== undefined))
      while (!(await fetch(url).then(Boolean, () => false))) await pause(25)
  })
  afterAll(async () => {
    await nginx?.stop()
    await haproxy?.stop()
    await world?.stop()
    await service?.close()
  })

  const edges: [string, () => string | undefined, boolean][] = [
    ['directly', () => world.portico.urls[0], true],
    ['behind nginx', () => nginx?.url, nginxIsInstalled()],
    ['behind HAProxy', () => haproxy?.url, haproxyIsInstalled()],
  ]
  describe.for(edges)('%s', ([_edge, url, isInstalled]) => {
    const requirement = needs(isInstalled, 'the edge is not installed')
    const open = (reply: Behaviour, init: RequestInit = {}) => {
      behave = reply
      return fetch(`${url()}${paths.legacy}/x`, { headers: world.headers(), redirect: 'manual', ...init })
    }
    const textOf = async (reply: Behaviour) => (await open(reply)).text()
    const writing = (...pieces: string[]): Behaviour => {
      return (socket) => pieces.forEach((piece, at) => void setTimeout(() => socket.write(piece), at * 50))
    }
    const ending = (text: string, how: 'end' | 'resetAndDestroy'): Behaviour => {
      return (socket) => {
        socket.write(text)
        setTimeout(() => socket[how](), 100)
      }
    }

    test('200: the end of the connection ends a reply without a length', requirement, async () => {
      expect(await textOf(ending(`${head}\r\nwhole`, 'end'))).toBe('whole')
      expect(await textOf(ending(`${head.replace('1.1', '1.0')}\r\nwhole`, 'end'))).toBe('whole')
    })

    test.each<[string, Behaviour]>([
      ['without a length, by a reset', ending(`${head}\r\nhalf`, 'resetAndDestroy')],
      ['in chunks, by a reset', ending(`${chunked}4\r\nhalf\r\n`, 'resetAndDestroy')],
      ['in chunks, by its end', ending(`${chunked}4\r\nhalf\r\n`, 'end')],
      ['inside a chunk, by its end', ending(`${chunked}9\r\nhalf`, 'end')],
      ['with a length, by its end', ending(`${head}content-length: 9\r\n\r\nhalf`, 'end')],
    ])('a reply that breaks off breaks the connection: %s', requirement, async (_name, reply) => {
      await expect(textOf(reply)).rejects.toThrow()
    })

    test('200: interim responses are dropped', requirement, async () => {
      const interim = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'
      const reply = writing(interim, `${head}content-length: 5\r\n\r\nwhole`)
      expect(await textOf(reply)).toBe('whole')
      const posted = await open(reply, { method: 'POST', body: 'a=1' })
      expect([posted.status, await posted.text(), posted.headers.get('link')]).toEqual([200, 'whole', null])
    })

    test('204: without a Content-Length', requirement, async () => {
      for (const extra of ['', 'content-length: 0\r\n', 'content-length: 5\r\n']) {
        const response = await open(writing(`HTTP/1.1 204 No Content\r\n${extra}\r\n`))
        expect([response.status, response.headers.get('content-length'), await response.text()]).toEqual([
          204,
          null,
          '',
        ])
      }
    })

    test('503 and 429: Retry-After is passed on', requirement, async () => {
      for (const [status, code] of [
        ['429 Slow', 429],
        ['503 Later', 503],
      ] as const) {
        const response = await open(writing(`HTTP/1.1 ${status}\r\nretry-after: 120\r\ncontent-length: 0\r\n\r\n`))
        expect([response.status, response.headers.get('retry-after')]).toEqual([code, '120'])
      }
    })
  })

  test('a client of HTTP/1.0 gets a reset instead of half a reply', async () => {
    behave = (socket) => {
      socket.write(`${head}\r\nhalf`)
      setTimeout(() => socket.resetAndDestroy(), 50)
    }
    const { hostname, port } = new URL(world.portico.urls[0] ?? '')
    const lines = Object.entries({ ...world.headers(), host: 'x' }).map(([name, value]) => `${name}: ${value}\r\n`)
    const socket = connect(Number(port), hostname)
    socket.write(`GET ${paths.legacy}/x HTTP/1.0\r\n${lines.join('')}\r\n`)
    const outcome = Promise.withResolvers<string>()
    socket
      .resume()
      .on('end', () => outcome.resolve('ended'))
      .on('error', () => outcome.resolve('reset'))
    expect(await outcome.promise).toBe('reset')
  })
})
