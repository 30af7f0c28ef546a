import type { IncomingMessage } from 'node:http'
import { createProxyMiddleware } from 'http-proxy-middleware'
import type { UpstreamConfiguration } from '../config/index.ts'
import type { Call } from '../gateway/call.ts'
import { Refusal, StreamReply } from '../kernel/index.ts'
import { abandon, deadEnd, ForwardedRequest } from './forwarded-request.ts'
import { readStreamedJson, streamReply } from './stream-reply.ts'
import { openAgent } from './upstream-connection.ts'
import { invalidReply } from './upstream-reply.ts'
import { upstreamStreamHead } from './upstream-request.ts'

export interface StreamExchange {
  exchange(call: Call, assertion: string): Promise<unknown>
  close(): void
}

/** Operations whose bytes are not held: an upload's form, a download's file. */
export const isStreamed = ({ operation }: Call): boolean =>
  operation.body === 'multipart' || operation.reply === 'stream'

const tooLate = (): Refusal => new Refusal('SYSTEM.UPSTREAM_TIMEOUT', { internal: 'total deadline of a stream' })

const clientSlow = (): Refusal => new Refusal('REQUEST.TIMEOUT', { internal: 'the client was too slow for a stream' })

const clientGone = (cause?: unknown): Refusal =>
  cause instanceof Refusal ? cause : new Refusal('REQUEST.MALFORMED', { internal: 'upload broke off', cause })

/**
 * Streams to and from an upstream through http-proxy-middleware, unbuffered both ways. It is given a request and a
 * response of our own making (forwarded-request.ts) and leaves the answer to us, so that the stages, which never see
 * req or res, keep their say, and nothing of the upstream's head reaches the client but what stream-reply.ts lists.
 */
export const createStreamExchange = (settings: UpstreamConfiguration): StreamExchange => {
  const { url, maxReplyBytes, streamTimeoutMs, maxStreamBytes } = settings
  const { origin, pathname } = new URL(url)
  const agent = openAgent(settings)
  const pending = new WeakMap<object, PromiseWithResolvers<IncomingMessage>>()
  const proxy = createProxyMiddleware({
    target: origin,
    agent,
    changeOrigin: true,
    xfwd: false,
    followRedirects: false,
    selfHandleResponse: true,
    // None of the stock plugins: they write errors to the client, and to the console.
    ejectPlugins: true,
    plugins: [
      (server) => {
        server.on('proxyRes', (response, request) => pending.get(request)?.resolve(response))
        // Nobody is told of an upgrade that nobody listens for: the request would lie there until its deadline.
        server.on('proxyReq', (asked, request) => {
          asked.on('upgrade', (_response, socket) => {
            socket.destroy()
            pending.get(request)?.reject(invalidReply('an upgrade'))
          })
        })
        server.on('error', (error, request) => {
          if (request) pending.get(request)?.reject(error)
        })
        server.on('econnreset', (error, request) => pending.get(request)?.reject(error))
      },
    ],
  })

  const answerOf = async (call: Call, asked: Record<string, string>, response: IncomingMessage): Promise<unknown> => {
    if (call.operation.reply !== 'stream') return readStreamedJson(response, maxReplyBytes)
    const reply = streamReply(response, maxStreamBytes, asked)
    if (reply) return reply
    await readStreamedJson(response, maxReplyBytes)
    throw invalidReply('a stream was promised')
  }

  return {
    exchange: async (call, assertion) => {
      const head = upstreamStreamHead(call, assertion)
      const source = call.upload?.bytes ?? null
      const request = new ForwardedRequest({ ...head, path: pathname.replace(/\/$/, '') + head.path }, source)
      const dead = deadEnd(request)
      const answered = Promise.withResolvers<IncomingMessage>()
      const stopped = Promise.withResolvers<never>()
      pending.set(request, answered)
      let download: StreamReply | undefined
      const stop = (reason: Refusal): void => {
        stopped.reject(reason)
        download?.body.destroy(reason)
        abandon(dead)
      }
      // An upload that is wanted and not at its end, a download that lies there: the client is waited for, not the upstream.
      const isClientSlow = () =>
        source !== null ? !source.readableEnded && !source.isPaused() : (download?.body.readableLength ?? 0) > 0
      const timer = setTimeout(() => stop(isClientSlow() ? clientSlow() : tooLate()), streamTimeoutMs)
      const onBroken = (cause?: unknown): void => {
        if (!source?.readableEnded) stop(clientGone(cause))
      }
      source?.on('error', onBroken).on('close', onBroken)
      try {
        proxy(request, dead).catch(answered.reject)
        const response = await Promise.race([answered.promise, stopped.promise])
        const reply = await Promise.race([answerOf(call, head.headers, response), stopped.promise])
        if (reply instanceof StreamReply) {
          download = reply
          reply.body.on('close', () => clearTimeout(timer))
        } else clearTimeout(timer)
        return reply
      } catch (error) {
        clearTimeout(timer)
        abandon(dead)
        throw error
      }
    },
    close: () => agent.destroy(),
  }
}
