import type { UpstreamConfiguration } from '../../config/index.ts'
import { headers as knownHeaders } from '../../contract/headers.ts'
import { type Call, receiveStatus } from '../../gateway/pipeline/call.ts'
import { StreamReply } from '../../kernel/index.ts'
import type { IncomingMessage } from '../../platform/runtime/index.ts'
import { eventHeaders, readLastEventId } from '../event-bytes.ts'
import { basePathOf } from '../upstream/connection.ts'
import { createUpstreamProxy, type ProxyRequestHead } from '../upstream/proxy.ts'
import { type ClientPorts, invalidReply, isIdentityEncoding, upstreamTimeout } from '../upstream/reply.ts'
import { buildHeaders, buildPath } from '../upstream/request.ts'
import type { StreamClient } from '../upstream/stream-client.ts'
import { headerOf, readJsonReply } from '../upstream/stream-reply.ts'

/** The deadline applies to the head of the response; the pipeline limits the time of the stream itself. */
export function createEventsClient(settings: UpstreamConfiguration, { isCode, durations }: ClientPorts): StreamClient {
  const { url, timeoutMs, maxReplyBytes } = settings
  const basePath = basePathOf(url)
  // An open stream occupies a connection, so `streams` limits their number instead of `connections`.
  const proxy = createUpstreamProxy({ ...settings, connections: Number.POSITIVE_INFINITY }, durations)

  const readResponse = async (call: Call, response: IncomingMessage): Promise<StreamReply> => {
    receiveStatus(call, response.statusCode)
    if (!isEventStream(response)) {
      await readJsonReply(response, maxReplyBytes, isCode)
      throw invalidReply('expected an event stream')
    }
    if (!isIdentityEncoding(headerOf(response, 'content-encoding'))) throw invalidReply('content encoding')
    return new StreamReply(200, eventHeaders, response)
  }

  const send = async (call: Call, assertion: string): Promise<StreamReply> => {
    const { response, abort } = proxy.send(buildEventsRequest(call, assertion, basePath), null)
    const stopped = Promise.withResolvers<never>()
    const onLate = (): void => stopped.reject(upstreamTimeout('no event stream before the deadline'))
    const timer = durations.after(timeoutMs, onLate)
    const { signal } = call.client
    const onAbort = (): void => stopped.reject(signal.reason)
    signal.addEventListener('abort', onAbort)
    try {
      const reply = await Promise.race([response.then((received) => readResponse(call, received)), stopped.promise])
      reply.body.once('close', abort)
      return reply
    } catch (error) {
      abort()
      throw error
    } finally {
      timer.close()
      signal.removeEventListener('abort', onAbort)
    }
  }

  return { send, close: proxy.close }
}

function isEventStream(response: IncomingMessage): boolean {
  return response.statusCode === 200 && /^text\/event-stream\b/i.test(headerOf(response, 'content-type') ?? '')
}

function buildEventsRequest(call: Call, assertion: string, basePath: string): ProxyRequestHead {
  const headers = { ...buildHeaders(call, assertion), accept: 'text/event-stream' }
  const id = readLastEventId(call)
  return {
    method: 'GET',
    path: basePath + buildPath(call),
    headers: { ...headers, ...(id !== null && { [knownHeaders.lastEventId.field]: id }) },
  }
}
