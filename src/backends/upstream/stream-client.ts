import { Readable } from 'node:stream'
import type { UpstreamConfiguration } from '../../config/index.ts'
import { type Call, isCommand, receiveStatus } from '../../gateway/pipeline/call.ts'
import { Refusal, StreamReply } from '../../kernel/index.ts'
import type { IncomingMessage } from '../../platform/runtime/index.ts'
import { toRawReply } from '../pass-through/raw-reply.ts'
import { buildRawRequest, type StreamedRequest } from '../pass-through/raw-request.ts'
import { basePathOf } from './connection.ts'
import { IdleTimer } from './idle-timer.ts'
import { createUpstreamProxy, type ProxyRequestHead } from './proxy.ts'
import { type ClientPorts, invalidReply, upstreamTimeout } from './reply.ts'
import { buildStreamRequest } from './request.ts'
import { readJsonReply, toStreamReply } from './stream-reply.ts'

export interface StreamClient {
  send(call: Call, assertion: string): Promise<unknown>
  close(): void
}

/** Whether bytes are streamed instead of buffered. */
export function isStreamed({ operation }: Call): boolean {
  return operation.body === 'multipart' || typeof operation.reply === 'string'
}

/** `idleTimeoutMs` applies to raw replies: it limits how long the upstream can send nothing. */
export function createStreamClient(
  settings: UpstreamConfiguration,
  idleTimeoutMs: number,
  { isCode, durations }: ClientPorts,
): StreamClient {
  const { url, maxReplyBytes, streamTimeoutMs, maxStreamBytes } = settings
  const basePath = basePathOf(url)
  const proxy = createUpstreamProxy(settings, durations)

  const readResponse = async (
    call: Call,
    { headers }: ProxyRequestHead,
    response: IncomingMessage,
  ): Promise<unknown> => {
    receiveStatus(call, response.statusCode)
    if (isRaw(call)) return toRawReply(response, call, headers, settings)
    if (call.operation.reply !== 'stream') return readJsonReply(response, maxReplyBytes, isCode)
    const reply = toStreamReply(response, maxStreamBytes, headers)
    if (reply) return reply
    await readJsonReply(response, maxReplyBytes, isCode)
    throw invalidReply('expected a stream')
  }

  const toRequest = (call: Call, assertion: string): StreamedRequest => {
    if (isRaw(call)) return buildRawRequest(call, assertion, { basePath, maxBytes: maxStreamBytes })
    const { json, ...head } = buildStreamRequest(call, assertion)
    const source = call.upload?.bytes ?? (json === null ? null : Readable.from([Buffer.from(json)]))
    return { head: { ...head, path: basePath + head.path }, source }
  }

  const send = async (call: Call, assertion: string): Promise<unknown> => {
    const { head, source } = toRequest(call, assertion)
    const stopped = Promise.withResolvers<never>()
    let download: { body: Readable; response: IncomingMessage } | undefined
    const stop = (reason: Refusal): void => {
      stopped.reject(reason)
      download?.body.destroy(reason)
      abort()
    }
    // The client is slow if we wait for its upload, or if it does not read bytes that we have. The response is paused
    // while its bytes wait for the client.
    const isClientSlow = (): boolean =>
      download
        ? download.body.readableLength > 0 || download.response.isPaused()
        : source !== null && !source.readableEnded && !source.isPaused()
    const stopLate = (): void =>
      stop(isClientSlow() ? clientTimeout() : upstreamTimeout('total deadline of a stream', hasSocket()))
    const timer = durations.after(streamTimeoutMs, stopLate)
    const stopIdle = (): void => stop(upstreamTimeout('idle upstream', hasSocket()))
    const idle = isRaw(call) ? new IdleTimer(durations, idleTimeoutMs, isClientSlow, stopIdle) : null
    const stopTimers = (): void => {
      timer.close()
      idle?.stop()
    }
    const onBroken = (cause?: unknown): void => {
      // An upstream can respond before it has read the whole upload. The rest is then dropped.
      if (!source?.readableEnded && !download) stop(uploadBroken(cause))
    }
    const { response: received, hasSocket, abort } = proxy.send(head, source)
    const { signal } = call.client
    const onAbort = (): void => stop(signal.reason)
    if (!isCommand(call)) signal.addEventListener('abort', onAbort)
    source?.on('error', onBroken).on('close', onBroken)
    if (source) idle?.watch(source)
    try {
      const response = await Promise.race([received, stopped.promise])
      const reply = await Promise.race([readResponse(call, head, response), stopped.promise])
      if (reply instanceof StreamReply) {
        download = { body: reply.body, response }
        idle?.touch()
        idle?.watch(response)
        // The client can still be reading.
        response.once('end', () => idle?.stop())
        reply.body.on('close', stopTimers)
      } else stopTimers()
      return reply
    } catch (error) {
      stopTimers()
      abort()
      throw error
    } finally {
      // From now on, the response is what the client waits for.
      signal.removeEventListener('abort', onAbort)
    }
  }

  return { send, close: proxy.close }
}

function isRaw({ operation }: Call): boolean {
  return operation.reply === 'raw'
}

function clientTimeout(): Refusal {
  return new Refusal('REQUEST.TIMEOUT', { internal: 'the client was too slow for a stream' })
}

function uploadBroken(cause?: unknown): Refusal {
  return cause instanceof Refusal ? cause : new Refusal('REQUEST.MALFORMED', { internal: 'upload broke off', cause })
}
