import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { createProxyMiddleware, type Options } from 'http-proxy-middleware'
import type { UpstreamConfiguration } from '../../config/index.ts'
import type { Durations } from '../../kernel/index.ts'
import { countStreamedBytes, IncomingMessage, ServerResponse } from '../../platform/runtime/index.ts'
import { openAgent } from './connection.ts'
import { invalidReply } from './reply.ts'

/** The path starts with that of the upstream's URL. */
export interface ProxyRequestHead {
  method: string
  path: string
  headers: Record<string, string>
}

/**
 * The request that http-proxy-middleware gets instead of the client's. We build its head, so that no header of the
 * client can reach an upstream.
 */
export class ProxyRequest extends IncomingMessage {
  readonly #source: Readable | null

  constructor({ method, path, headers }: ProxyRequestHead, source: Readable | null) {
    super(new Socket())
    this.method = method
    this.url = path
    this.headers = headers
    this.httpVersion = '1.1'
    this.httpVersionMajor = 1
    this.httpVersionMinor = 1
    this.#source = source
    source
      ?.on('data', (chunk: Buffer) => {
        countStreamedBytes(chunk.length)
        if (!this.push(chunk)) source.pause()
      })
      .once('end', () => this.push(null))
      .pause()
  }

  override _read(): void {
    if (this.#source) this.#source.resume()
    else this.push(null)
  }
}

interface PendingResponse extends PromiseWithResolvers<IncomingMessage> {
  /** Whether the request has a connection, or waits for one to open. */
  hasSocket: boolean
  isAborted: boolean
  received?: IncomingMessage
}

type PendingResponses = WeakMap<object, PendingResponse>

export interface ProxiedRequest {
  /** Rejects if there is no response. */
  response: Promise<IncomingMessage>
  /** False while the request waits for a free connection. */
  hasSocket(): boolean
  /** Also aborts the rest of a response. */
  abort(): void
}

/** Does not buffer in either direction. */
export interface UpstreamProxy {
  send(head: ProxyRequestHead, source: Readable | null): ProxiedRequest
  close(): void
}

/** Stages never see the client's request and response, and only the headers that we choose reach the client. */
export function createUpstreamProxy(settings: UpstreamConfiguration, durations: Durations): UpstreamProxy {
  const agent = openAgent(settings, durations)
  const pending: PendingResponses = new WeakMap()
  const proxy = createProxyMiddleware({
    target: new URL(settings.url).origin,
    agent,
    changeOrigin: true,
    xfwd: false,
    followRedirects: false,
    selfHandleResponse: true,
    ejectPlugins: true,
    plugins: [settlePending(pending)],
  })
  return {
    send: (head, source) => {
      const request = new ProxyRequest(head, source)
      // Nothing is written to this response. http-proxy-middleware aborts the request when its client closes.
      const response = new ServerResponse(request)
      const received = { ...Promise.withResolvers<IncomingMessage>(), hasSocket: false, isAborted: false }
      pending.set(request, received)
      proxy(request, response).catch(received.reject)
      return {
        response: received.promise,
        hasSocket: () => received.hasSocket,
        abort: () => {
          received.isAborted = true
          response.emit('close')
        },
      }
    },
    close: () => agent.destroy(),
  }
}

/** http-proxy-middleware's own plugins would write errors to the client. */
function settlePending(pending: PendingResponses): NonNullable<Options['plugins']>[number] {
  return (server) => {
    server.on('proxyRes', (response, request) => {
      const known = pending.get(request)
      if (known) known.received = response
      known?.resolve(response)
    })
    // After this error, Node ends a response without a length as if it were whole.
    const fail = (error: Error, request: object): void => {
      const known = pending.get(request)
      known?.reject(error)
      if (known?.received?.complete === false) known.received.destroy(error)
    }
    // Without a listener, an upgrade is ignored and the request would wait until its deadline.
    server.on('proxyReq', (outgoing, request) => {
      const known = pending.get(request)
      if (known) known.hasSocket = true
      // An abort can precede the request.
      if (known?.isAborted) return void outgoing.destroy()
      outgoing.on('upgrade', (_response, socket) => {
        socket.destroy()
        known?.reject(invalidReply('an upgrade'))
      })
    })
    server.on('error', (error, request) => {
      if (request) fail(error, request)
    })
    server.on('econnreset', fail)
  }
}
