import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Refusal } from '../kernel/index.ts'
import { passedOn } from '../platform/system/index.ts'

/** The other end closed before everything was sent: no fault of ours. */
const isPrematureClose = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'

/** A socket on which nothing moves may as well wait for the source: that has limits of its own. */
const endWhereStalled = (source: Readable, response: ServerResponse, stallMs: number): void => {
  response.setTimeout(stallMs, () => {
    if (response.writableLength > 0)
      source.destroy(new Refusal('REQUEST.TIMEOUT', { internal: 'a client that takes nothing of a stream' }))
  })
}

async function* counted(bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of bytes) {
    passedOn(chunk.length)
    yield chunk
  }
}

/**
 * Sends bytes as they come. A source that breaks off breaks the connection off, so that nobody takes it for whole; a client
 * that takes nothing for `stallMs` is left (0: waited for).
 */
export const sendStream = async (source: Readable, response: ServerResponse, stallMs: number): Promise<void> => {
  endWhereStalled(source, response, stallMs)
  try {
    await pipeline(source, counted, response)
  } catch (cause) {
    if (!isPrematureClose(cause)) throw cause
    throw new Refusal('REQUEST.MALFORMED', { internal: 'client went away', cause })
  }
}
