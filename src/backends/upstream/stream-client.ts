import type { UpstreamConfiguration } from '../../config/index.ts'
import type { Call } from '../../gateway/pipeline/call.ts'
import { Refusal, StreamReply } from '../../kernel/index.ts'
import type { IncomingMessage } from '../../platform/runtime/index.ts'
import { toRawReply } from '../pass-through/raw-reply.ts'
import { buildRawRequest, type StreamedRequest } from '../pass-through/raw-request.ts'
import { basePathOf } from './connection.ts'
import { createUpstreamProxy, type ProxyRequestHead } from './proxy.ts'
import { type IsCode, invalidReply } from './reply.ts'
import { buildStreamRequest } from './request.ts'
import { readJsonReply, toStreamReply } from './stream-reply.ts'

export interface StreamClient {
  send(call: Call, assertion: string): Promise<unknown>
  close(): void
}

/** Whether bytes are streamed instead of buffered. */
export const isStreamed = ({ operation }: Call): boolean =>
  operation.body === 'multipart' || typeof operation.reply === 'string'

const upstreamTimeout = (): Refusal =>
  new Refusal('SYSTEM.UPSTREAM_TIMEOUT', { internal: 'total deadline of a stream' })

const clientTimeout = (): Refusal =>
  new Refusal('REQUEST.TIMEOUT', { internal: 'the client was too slow for a stream' })

const uploadBroken = (cause?: unknown): Refusal =>
  cause instanceof Refusal ? cause : new Refusal('REQUEST.MALFORMED', { internal: 'upload broke off', cause })

const isRaw = ({ operation }: Call): boolean => operation.reply === 'raw'

export function createStreamClient(settings: UpstreamConfiguration, isCode: IsCode): StreamClient {
  const { url, maxReplyBytes, streamTimeoutMs, maxStreamBytes } = settings
  const basePath = basePathOf(url)
  const proxy = createUpstreamProxy(settings)

  const readResponse = async (
    call: Call,
    { headers }: ProxyRequestHead,
    response: IncomingMessage,
  ): Promise<unknown> => {
    if (isRaw(call)) return toRawReply(response, call, headers, settings)
    if (call.operation.reply !== 'stream') return readJsonReply(response, maxReplyBytes, isCode)
    const reply = toStreamReply(response, maxStreamBytes, headers)
    if (reply) return reply
    await readJsonReply(response, maxReplyBytes, isCode)
    throw invalidReply('expected a stream')
  }

  const toRequest = (call: Call, assertion: string): StreamedRequest => {
    if (isRaw(call)) return buildRawRequest(call, assertion, { basePath, maxBytes: maxStreamBytes })
    const head = buildStreamRequest(call, assertion)
    return { head: { ...head, path: basePath + head.path }, source: call.upload?.bytes ?? null }
  }

  const send = async (call: Call, assertion: string): Promise<unknown> => {
    const { head, source } = toRequest(call, assertion)
    const stopped = Promise.withResolvers<never>()
    let download: StreamReply | undefined
    const stop = (reason: Refusal): void => {
      stopped.reject(reason)
      download?.body.destroy(reason)
      abort()
    }
    // The client is slow if we wait for its upload, or if it does not read bytes that we have.
    const isClientSlow = () =>
      source !== null && !download
        ? !source.readableEnded && !source.isPaused()
        : (download?.body.readableLength ?? 0) > 0
    const timer = setTimeout(() => stop(isClientSlow() ? clientTimeout() : upstreamTimeout()), streamTimeoutMs)
    const onBroken = (cause?: unknown): void => {
      // An upstream can respond before it has read the whole upload. The rest is then dropped.
      if (!source?.readableEnded && !download) stop(uploadBroken(cause))
    }
    const { response: received, abort } = proxy.send(head, source)
    source?.on('error', onBroken).on('close', onBroken)
    try {
      const response = await Promise.race([received, stopped.promise])
      const reply = await Promise.race([readResponse(call, head, response), stopped.promise])
      if (reply instanceof StreamReply) {
        download = reply
        reply.body.on('close', () => clearTimeout(timer))
      } else clearTimeout(timer)
      return reply
    } catch (error) {
      clearTimeout(timer)
      abort()
      throw error
    }
  }

  return { send, close: proxy.close }
}
