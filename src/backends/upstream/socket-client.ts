import type { ClientRequest } from 'node:http'
import type { Socket } from 'node:net'
import { createProxyMiddleware, type Options } from 'http-proxy-middleware'
import type { UpstreamConfiguration } from '../../config/index.ts'
import { type Call, receiveStatus } from '../../gateway/pipeline/call.ts'
import { acceptKey, type Handshake } from '../../gateway/sockets/handshake.ts'
import { type Refusal, SocketReply } from '../../kernel/index.ts'
import type { IncomingMessage } from '../../platform/runtime/index.ts'
import { basePathOf, openAgent } from './connection.ts'
import { ProxyRequest } from './proxy.ts'
import { ProxySocket } from './proxy-socket.ts'
import { type ClientPorts, invalidReply, upstreamTimeout } from './reply.ts'
import { buildSocketRequest } from './request.ts'
import { headerOf, readJsonReply } from './stream-reply.ts'

export interface SocketClient {
  /** Resolves with the upstream's side of the socket. */
  open(call: Call, handshake: Handshake, assertion: string): Promise<SocketReply>
  close(): void
}

interface PendingHandshake {
  call: Call
  handshake: Handshake
  socket: ProxySocket
  settle: PromiseWithResolvers<SocketReply>
  outgoing: ClientRequest | null
}

/** No header of the client reaches the upstream, and no response of the upstream reaches the client. */
export function createSocketClient(
  settings: UpstreamConfiguration,
  maxBufferedBytes: number,
  { isCode, durations }: ClientPorts,
): SocketClient {
  const { url, timeoutMs, maxReplyBytes } = settings
  const basePath = basePathOf(url)
  const agent = openAgent(settings, durations)
  const pending = new WeakMap<object, PendingHandshake>()
  const readRefusal = async (response: IncomingMessage): Promise<never> => {
    await readJsonReply(response, maxReplyBytes, isCode)
    throw invalidReply('expected an upgrade')
  }
  const proxy = createProxyMiddleware({
    target: new URL(url).origin,
    agent,
    changeOrigin: true,
    xfwd: false,
    followRedirects: false,
    ejectPlugins: true,
    plugins: [settlePending(pending, readRefusal)],
  })

  const open = async (call: Call, handshake: Handshake, assertion: string): Promise<SocketReply> => {
    const head = buildSocketRequest(call, handshake, assertion)
    const request = withServer(new ProxyRequest({ ...head, path: basePath + head.path }, null))
    const socket = new ProxySocket(maxBufferedBytes)
    const opening: PendingHandshake = { call, handshake, socket, settle: Promise.withResolvers(), outgoing: null }
    pending.set(request, opening)
    const stop = (reason: Refusal): void => {
      opening.settle.reject(reason)
      opening.outgoing?.destroy()
      socket.destroy()
    }
    const onTimeout = () => stop(upstreamTimeout('deadline of a handshake', Boolean(opening.outgoing?.socket)))
    const { signal } = call.client
    const onAbort = () => stop(signal.reason)
    const timer = durations.after(timeoutMs, onTimeout)
    signal.addEventListener('abort', onAbort)
    if (signal.aborted) onAbort()
    try {
      proxy.upgrade(request, socket, Buffer.alloc(0))
      return await opening.settle.promise
    } finally {
      timer.close()
      signal.removeEventListener('abort', onAbort)
    }
  }

  return { open, close: () => agent.destroy() }
}

/**
 * These listeners run before those of http-proxy-middleware, which would send the upstream's response to the client.
 */
function settlePending(
  pending: WeakMap<object, PendingHandshake>,
  readRefusal: (response: IncomingMessage) => Promise<never>,
): NonNullable<Options['plugins']>[number] {
  return (server) => {
    server.on('proxyReqWs', (outgoing, request) => {
      const known = pending.get(request)
      if (!known || known.socket.destroyed) return void outgoing.destroy()
      known.outgoing = outgoing
      outgoing.on('upgrade', (response, socket) => acceptUpgrade(known, response, socket))
      outgoing.on('response', (response) => {
        receiveStatus(known.call, response.statusCode)
        known.socket.destroy()
        readRefusal(response).catch(known.settle.reject)
      })
    })
    server.on('error', (error, request) => {
      if (request) pending.get(request)?.settle.reject(error)
    })
  }
}

function acceptUpgrade(
  { call, handshake, socket, settle }: PendingHandshake,
  response: IncomingMessage,
  upstream: Socket,
) {
  receiveStatus(call, response.statusCode)
  const error = handshakeError(response, handshake)
  if (error !== undefined) {
    upstream.destroy()
    socket.destroy()
    settle.reject(invalidReply(`handshake: ${error}`))
    return
  }
  // The middleware ends the upstream's socket only after a regular end.
  socket.once('close', () => upstream.destroy())
  const protocol = headerOf(response, 'sec-websocket-protocol') ?? null
  const extensions = headerOf(response, 'sec-websocket-extensions') ?? null
  settle.resolve(new SocketReply(protocol, extensions, socket.gatewaySide))
}

/** RFC 6455, section 4.1. */
function handshakeError(response: IncomingMessage, { key, protocols, extensions }: Handshake): string | undefined {
  if (response.statusCode !== 101 || headerOf(response, 'upgrade')?.toLowerCase() !== 'websocket')
    return 'not an upgrade'
  if (headerOf(response, 'sec-websocket-accept') !== acceptKey(key)) return 'Sec-WebSocket-Accept'
  const protocol = headerOf(response, 'sec-websocket-protocol')
  if (protocol !== undefined && !protocols.includes(protocol)) return 'a subprotocol that was not offered'
  return extensions === null && headerOf(response, 'sec-websocket-extensions') !== undefined
    ? 'an extension that was not offered'
    : undefined
}

/** http-proxy-middleware only accepts upgrades of requests whose socket belongs to a server. */
function withServer(request: ProxyRequest): ProxyRequest {
  Object.assign(request.socket, { server: {} })
  return request
}
