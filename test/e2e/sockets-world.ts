import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'vitest'
import type { StreamSettings } from '../../src/config/index.ts'
import { developmentIds } from '../../src/seed/development.ts'
import { createMovableDurations } from '../harness/durations.ts'
import { requiredHeaders } from '../harness/http.ts'
import { startPortico } from '../harness/portico.ts'
import { upstreamAt } from '../harness/settings.ts'
import { signIn } from '../harness/sign-in.ts'
import { frameOf, readFrames, startSocketService } from '../harness/socket-service.ts'

export const { workspace } = developmentIds
export const path = '/web/v1/consumer/ticker'
export const key = 'dGhlIHNhbXBsZSBub25jZQ=='

export interface Connection {
  socket: Socket
  /** Resolves once the head is complete. */
  head: Promise<string>
  messages: string[]
  closeFrame: () => [code: number, reason: string] | undefined
  text: () => string
  closed: Promise<unknown>
  send(text: string): void
}

type Changes = Record<string, string | null>

interface Sent {
  method?: string
  /** Sent behind the head of the request. */
  tail?: string | Buffer
  url?: string
}

export async function startSocketsWorld(streams: Partial<StreamSettings>, origins: string[] = []) {
  const service = await startSocketService()
  const durations = createMovableDurations()
  const portico = await startPortico({
    durations,
    adjust: (settings) => {
      settings.operations = ['test/harness/ticker.yaml']
      const breaker = { failures: 1_000, openMs: 200 }
      const ticker = upstreamAt(`${service.url}/base`, { audience: 'ticker', breaker })
      settings.backends = { ...settings.backends, ticker }
      Object.assign(settings.streams, streams)
      settings.portals.CONSUMER.origins = origins
    },
  })
  portico.expectFault(({ operation }) => /^ticker\./.test(String(operation)))
  const session = await signIn(portico)
  const headersOf = (token = session.accessToken): Record<string, string> => {
    const { 'content-type': _, ...headers } = requiredHeaders()
    return { ...headers, authorization: `Bearer ${token}`, 'x-workspace-id': workspace }
  }

  /** Null removes a header. */
  const begin = (
    target: string,
    changes: Changes = {},
    { method = 'GET', tail = '', url = portico.url }: Sent = {},
  ): Connection => {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    const headers: Record<string, string | null> = {
      host: hostname,
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
      ...headersOf(),
      ...changes,
    }
    const lines = Object.entries(headers).map(([name, value]) => (value === null ? '' : `${name}: ${value}\r\n`))
    socket.write(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`)
    socket.write(tail)
    const head = Promise.withResolvers<string>()
    const messages: string[] = []
    let text = ''
    let close: [number, string] | undefined
    const onData = (chunk: Buffer): void => {
      text += chunk.toString('latin1')
      const at = text.indexOf('\r\n\r\n')
      if (at < 0) return
      head.resolve(text.slice(0, at))
      socket.off('data', onData)
      if (!text.startsWith('HTTP/1.1 101')) {
        socket.on('data', (rest: Buffer) => {
          text += rest.toString('latin1')
        })
        return
      }
      readFrames(socket, (opcode, payload) => {
        if (opcode === 8) close = [payload.readUInt16BE(0), payload.subarray(2).toString()]
        else messages.push(payload.toString())
      })
      const rest = Buffer.from(text.slice(at + 4), 'latin1')
      if (rest.length > 0) socket.unshift(rest)
    }
    socket.on('data', onData).on('error', () => undefined)
    const closed = once(socket, 'close')
    return {
      socket,
      head: head.promise,
      messages,
      closeFrame: () => close,
      text: () => text,
      closed,
      send: (message) => void socket.write(frameOf(1, Buffer.from(message), true)),
    }
  }

  /** Expects that the gateway accepts the handshake. */
  const open = async (target = path, changes: Changes = {}, options: Sent = {}): Promise<Connection> => {
    const connection = begin(target, changes, options)
    expect((await connection.head).split('\r\n')[0], connection.text()).toBe('HTTP/1.1 101 Switching Protocols')
    return connection
  }

  /** The gateway must refuse the handshake. Resolves to status and code. */
  const refusalOf = async (...parameters: Parameters<typeof begin>): Promise<[number, string]> => {
    const connection = begin(...parameters)
    await connection.closed
    const [head = '', body = ''] = connection.text().split('\r\n\r\n')
    expect(head.toLowerCase()).toContain('connection: close')
    return [Number(head.split(' ')[1]), JSON.parse(body).code]
  }

  const openCount = async (): Promise<number> => {
    const metrics = await (await fetch(`${portico.operationsUrl}/metrics`)).text()
    return Number(/^portico_open_streams\{operation="ticker.follow"\} (\d+)/m.exec(metrics)?.[1])
  }

  const closedLine = async (requestId: string) => {
    await expect
      .poll(() => portico.log.find((line) => line.msg === 'socket closed' && line.requestId === requestId))
      .toBeDefined()
    return portico.log.find((line) => line.msg === 'socket closed' && line.requestId === requestId)
  }

  return {
    durations,
    service,
    portico,
    session,
    headersOf,
    begin,
    open,
    refusalOf,
    openCount,
    closedLine,
    reset: async (): Promise<void> => {
      service.respond = service.accept
      for (const socket of [...service.open]) socket.destroy()
      await expect.poll(() => service.open).toEqual([])
      service.handshakes.length = 0
    },
    stop: async (): Promise<void> => {
      await portico.stop()
      await service.close()
    },
  }
}

export type SocketsWorld = Awaited<ReturnType<typeof startSocketsWorld>>
