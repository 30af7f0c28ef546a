import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errorCode, Refusal } from '../../kernel/index.ts'
import { countStreamedBytes } from '../../platform/runtime/index.ts'
import { clientDisconnected } from '../pipeline/call.ts'

export interface DownloadPace {
  /** Maximum time without reading, and the window in which the speed is measured. */
  stallMs: number
  bytesPerSecond: number
}

/** If the source fails, the connection is destroyed, so that the client notices missing bytes. */
export async function sendStreamBody(
  body: Readable,
  announcedLength: string | undefined,
  response: ServerResponse,
  pace: DownloadPace | null,
): Promise<void> {
  if (pace) abortWhenStalled(body, response, pace.stallMs)
  const stopMeasuring = pace ? abortWhenSlow(body, response, pace) : () => undefined
  // `pipeline` notices a closed response only with the next bytes, and an idle source sends none.
  response.once('close', () => body.destroy())
  const length = announcedLength === undefined ? null : Number(announcedLength)
  // Without a length, HTTP/1.0 shows missing bytes only by a reset (RFC 9112, 8).
  if (length === null && response.req.httpVersion === '1.0')
    body.once('error', () => response.socket?.resetAndDestroy())
  try {
    await pipeline(body, (bytes) => checkLength(bytes, length), response)
  } catch (cause) {
    if (errorCode(cause) !== 'ERR_STREAM_PREMATURE_CLOSE') throw cause
    throw clientDisconnected(cause)
  } finally {
    stopMeasuring()
  }
}

/** With an empty buffer, the client is waiting for the source, so the stream continues. */
function abortWhenStalled(source: Readable, response: ServerResponse, stallMs: number): void {
  response.setTimeout(stallMs, () => {
    if (response.writableLength > 0)
      source.destroy(new Refusal('REQUEST.TIMEOUT', { internal: 'the client does not read the stream' }))
  })
}

/**
 * Ignores windows that start or end without waiting bytes, because there the source is slower than the client.
 * `abortWhenStalled` handles windows without progress. Returns a function that stops the measurement.
 */
function abortWhenSlow(source: Readable, response: ServerResponse, pace: DownloadPace): () => void {
  const minimum = (pace.bytesPerSecond * pace.stallMs) / 1_000
  let sent = sentBytes(response)
  let wasWaiting = false
  const timer = setInterval(() => {
    const before = sent
    sent = sentBytes(response)
    const isWaiting = response.writableLength > 0
    const isSlow = sent > before && sent - before < minimum
    if (wasWaiting && isWaiting && isSlow)
      source.destroy(new Refusal('REQUEST.TIMEOUT', { internal: 'the client reads the stream too slowly' }))
    wasWaiting = isWaiting
  }, pace.stallMs)
  return () => clearInterval(timer)
}

/** Buffers of the operating system hide a slow client only until they are full. */
function sentBytes({ socket }: ServerResponse): number {
  return socket ? socket.bytesWritten - socket.writableLength : 0
}

/** A client would wait for missing bytes, and would read additional bytes as the next response. */
async function* checkLength(bytes: AsyncIterable<Buffer>, length: number | null): AsyncGenerator<Buffer> {
  let sent = 0
  for await (const chunk of bytes) {
    countStreamedBytes(chunk.length)
    sent += chunk.length
    if (length !== null && sent > length) break
    yield chunk
  }
  if (length !== null && sent !== length) throw new Error(`stream length differs from the announced ${length} bytes`)
}
