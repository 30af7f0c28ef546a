import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errorCode, Refusal, type StreamReply } from '../kernel/index.ts'
import { countStreamedBytes } from '../platform/runtime/index.ts'

/** A socket on which nothing moves may as well wait for the source: that has limits of its own. */
const endWhereStalled = (source: Readable, response: ServerResponse, stallMs: number): void => {
  response.setTimeout(stallMs, () => {
    if (response.writableLength > 0)
      source.destroy(new Refusal('REQUEST.TIMEOUT', { internal: 'a client that takes nothing of a stream' }))
  })
}

/**
 * The bytes of a stream, as many as its head has told of: a client waits for those that are missing, and takes those that
 * are too many for the next answer.
 */
async function* asTold(bytes: AsyncIterable<Buffer>, told: number | null): AsyncGenerator<Buffer> {
  let sent = 0
  for await (const chunk of bytes) {
    countStreamedBytes(chunk.length)
    sent += chunk.length
    if (told !== null && sent > told) break
    yield chunk
  }
  if (told !== null && sent !== told) throw new Error(`a stream is not of the ${told} bytes that its head tells of`)
}

/**
 * Sends the bytes of a reply, whose head is written, as they come. A source that breaks off breaks the connection off, so that
 * nobody takes it for whole; a client that takes nothing for `stallMs` is left (0: waited for).
 */
export const sendStream = async (
  { body, headers }: StreamReply,
  response: ServerResponse,
  stallMs: number,
): Promise<void> => {
  endWhereStalled(body, response, stallMs)
  const length = headers['content-length']
  const told = length === undefined ? null : Number(length)
  try {
    await pipeline(body, (bytes) => asTold(bytes, told), response)
  } catch (cause) {
    // The other end closed before everything was sent: no fault of ours.
    if (errorCode(cause) !== 'ERR_STREAM_PREMATURE_CLOSE') throw cause
    throw new Refusal('REQUEST.MALFORMED', { internal: 'client went away', cause })
  }
}
