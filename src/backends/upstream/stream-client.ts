import { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { createProxyMiddleware, type Options } from 'http-proxy-middleware'
import type { UpstreamConfiguration } from '../../config/index.ts'
import type { Call } from '../../gateway/pipeline/call.ts'
import { Refusal, StreamReply } from '../../kernel/index.ts'
import { countStreamedBytes, IncomingMessage, ServerResponse } from '../../platform/runtime/index.ts'
import { openAgent } from './connection.ts'
import { type IsCode, invalidReply } from './reply.ts'
import { buildStreamRequest } from './request.ts'
import { readJsonReply, toStreamReply } from './stream-reply.ts'

interface ProxyRequestHead {
  method: string
  path: string
  headers: Record<string, string>
}

/**
 * The request that http-proxy-middleware gets instead of the client's. We build its head, so that no header of the
 * client can reach an upstream. The body is the client's. Its socket is not connected.
 */
class ProxyRequest extends IncomingMessage {
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

/** Returns the matching response. Nothing is written to it; closing it aborts the request to the upstream. */
const createProxyResponse = (request: IncomingMessage): ServerResponse => new ServerResponse(request)

/** Aborts the request to the upstream: http-proxy-middleware listens for the close of its client. */
const abortProxy = (response: ServerResponse): void => {
  response.emit('close')
}

/** Sends streamed operations to an upstream. */
export interface StreamClient {
  send(call: Call, assertion: string): Promise<unknown>
  close(): void
}

/** Whether an operation's bytes are streamed instead of buffered: uploads and downloads. */
export const isStreamed = ({ operation }: Call): boolean =>
  operation.body === 'multipart' || operation.reply === 'stream'

const upstreamTimeout = (): Refusal =>
  new Refusal('SYSTEM.UPSTREAM_TIMEOUT', { internal: 'total deadline of a stream' })

const clientTimeout = (): Refusal =>
  new Refusal('REQUEST.TIMEOUT', { internal: 'the client was too slow for a stream' })

const uploadBroken = (cause?: unknown): Refusal =>
  cause instanceof Refusal ? cause : new Refusal('REQUEST.MALFORMED', { internal: 'upload broke off', cause })

type PendingResponses = WeakMap<object, PromiseWithResolvers<IncomingMessage>>

/** Settles the pending response of each request. http-proxy-middleware's own plugins write errors to the client. */
const settlePending =
  (pending: PendingResponses): NonNullable<Options['plugins']>[number] =>
  (server) => {
    server.on('proxyRes', (response, request) => pending.get(request)?.resolve(response))
    // Without a listener, an upgrade is ignored and the request would wait until its deadline.
    server.on('proxyReq', (outgoing, request) => {
      outgoing.on('upgrade', (_response, socket) => {
        socket.destroy()
        pending.get(request)?.reject(invalidReply('an upgrade'))
      })
    })
    server.on('error', (error, request) => {
      if (request) pending.get(request)?.reject(error)
    })
    server.on('econnreset', (error, request) => pending.get(request)?.reject(error))
  }

/**
 * Returns a client that streams through http-proxy-middleware without buffering in either direction. The middleware
 * gets a request and a response that we create, and we send the response to the client. So stages never see the
 * client's request and response objects, and only the headers listed in stream-reply.ts reach the client.
 */
export function createStreamClient(settings: UpstreamConfiguration, isCode: IsCode): StreamClient {
  const { url, maxReplyBytes, streamTimeoutMs, maxStreamBytes } = settings
  const { origin, pathname } = new URL(url)
  const basePath = pathname.replace(/\/$/, '')
  const agent = openAgent(settings)
  const pending: PendingResponses = new WeakMap()
  const proxy = createProxyMiddleware({
    target: origin,
    agent,
    changeOrigin: true,
    xfwd: false,
    followRedirects: false,
    selfHandleResponse: true,
    ejectPlugins: true,
    plugins: [settlePending(pending)],
  })

  const readResponse = async (
    { operation }: Call,
    requestHeaders: Record<string, string>,
    response: IncomingMessage,
  ): Promise<unknown> => {
    if (operation.reply !== 'stream') return readJsonReply(response, maxReplyBytes, isCode)
    const reply = toStreamReply(response, maxStreamBytes, requestHeaders)
    if (reply) return reply
    await readJsonReply(response, maxReplyBytes, isCode)
    throw invalidReply('expected a stream')
  }

  const send = async (call: Call, assertion: string): Promise<unknown> => {
    const head = buildStreamRequest(call, assertion)
    const source = call.upload?.bytes ?? null
    const request = new ProxyRequest({ ...head, path: basePath + head.path }, source)
    const proxyResponse = createProxyResponse(request)
    const received = Promise.withResolvers<IncomingMessage>()
    const stopped = Promise.withResolvers<never>()
    pending.set(request, received)
    let download: StreamReply | undefined
    const stop = (reason: Refusal): void => {
      stopped.reject(reason)
      download?.body.destroy(reason)
      abortProxy(proxyResponse)
    }
    // The client is the slow side if we wait for the rest of its upload, or if it does not read the bytes that we have.
    const isClientSlow = () =>
      source !== null ? !source.readableEnded && !source.isPaused() : (download?.body.readableLength ?? 0) > 0
    const timer = setTimeout(() => stop(isClientSlow() ? clientTimeout() : upstreamTimeout()), streamTimeoutMs)
    const onBroken = (cause?: unknown): void => {
      if (!source?.readableEnded) stop(uploadBroken(cause))
    }
    source?.on('error', onBroken).on('close', onBroken)
    try {
      proxy(request, proxyResponse).catch(received.reject)
      const response = await Promise.race([received.promise, stopped.promise])
      const reply = await Promise.race([readResponse(call, head.headers, response), stopped.promise])
      if (reply instanceof StreamReply) {
        download = reply
        reply.body.on('close', () => clearTimeout(timer))
      } else clearTimeout(timer)
      return reply
    } catch (error) {
      clearTimeout(timer)
      abortProxy(proxyResponse)
      throw error
    }
  }

  return { send, close: () => agent.destroy() }
}
