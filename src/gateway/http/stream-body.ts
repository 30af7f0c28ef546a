import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errorCode, Refusal, type StreamReply } from '../../kernel/index.ts'
import { countStreamedBytes } from '../../platform/runtime/index.ts'

/**
 * Ends the stream if the client reads nothing for `stallMs`. If the buffer of an idle socket is empty, the client is
 * waiting for the source, so the stream goes on.
 */
const abortWhenStalled = (source: Readable, response: ServerResponse, stallMs: number): void => {
  response.setTimeout(stallMs, () => {
    if (response.writableLength > 0)
      source.destroy(new Refusal('REQUEST.TIMEOUT', { internal: 'the client does not read the stream' }))
  })
}

/**
 * Yields the bytes of a stream and checks that there are as many as announced. A client would wait for missing bytes,
 * and would read additional bytes as the next response.
 */
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

/**
 * Sends the bytes of a reply whose head is already written. If the source fails, the connection is destroyed, so that
 * the client notices that bytes are missing. A `stallMs` of 0 disables the stall limit.
 */
export async function sendStreamBody(
  { body, headers }: StreamReply,
  response: ServerResponse,
  stallMs: number,
): Promise<void> {
  abortWhenStalled(body, response, stallMs)
  const announced = headers['content-length']
  const length = announced === undefined ? null : Number(announced)
  try {
    await pipeline(body, (bytes) => checkLength(bytes, length), response)
  } catch (cause) {
    // The client closed the connection early.
    if (errorCode(cause) !== 'ERR_STREAM_PREMATURE_CLOSE') throw cause
    throw new Refusal('REQUEST.MALFORMED', { internal: 'client disconnected', cause })
  }
}
