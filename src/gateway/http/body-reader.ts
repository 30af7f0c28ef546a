import { PassThrough, type Readable } from 'node:stream'
import { type MaybePromise, Refusal } from '../../kernel/index.ts'
import { setDeadline } from '../../platform/runtime/index.ts'

/**
 * Reads a whole body. Throws REQUEST.TOO_LARGE above `maxBytes`, REQUEST.TIMEOUT when it is not complete within
 * `timeoutMs` in total, and REQUEST.MALFORMED when it breaks off.
 */
export const readBody = (source: Readable, maxBytes: number, timeoutMs: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const settle = (act: () => void) => {
      clearTimeout(timer)
      source.off('data', onData).off('end', onEnd).off('error', onError).off('aborted', onAborted)
      act()
    }
    const refuse = (refusal: Refusal) => settle(() => reject(refusal))
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size > maxBytes) refuse(new Refusal('REQUEST.TOO_LARGE', { internal: 'body' }))
      else chunks.push(chunk)
    }
    const onEnd = () => settle(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)))
    const onError = (cause: Error) => refuse(new Refusal('REQUEST.MALFORMED', { internal: 'body broke off', cause }))
    const onAborted = () => refuse(new Refusal('REQUEST.MALFORMED', { internal: 'client went away' }))
    const timer = setDeadline(() => refuse(new Refusal('REQUEST.TIMEOUT', { internal: 'body' })), timeoutMs)
    source.on('data', onData).on('end', onEnd).on('error', onError).on('aborted', onAborted)
  })

/** Minimum speed of an upload. */
export interface UploadPace {
  windowMs: number
  /** Minimum number of bytes per window while we are ready to read. */
  bytes: number
}

/**
 * Passes an upload on as a stream that fails with REQUEST.TIMEOUT when the client is slower than `pace`. Windows in which
 * our reader paused the source do not count. `beforeEnd` runs after the last byte; if it throws, the stream fails.
 */
export function enforcePace(source: Readable, pace: UploadPace, beforeEnd: () => MaybePromise<void>): Readable {
  const paced = new PassThrough({
    flush: (done) => {
      Promise.try(beforeEnd).then(() => done(), done)
    },
  })
  let received = 0
  let wasPaused = false
  const timer = setInterval(() => {
    if (received < pace.bytes && !wasPaused)
      paced.destroy(new Refusal('REQUEST.TIMEOUT', { internal: 'upload too slow' }))
    received = 0
    wasPaused = source.isPaused()
  }, pace.windowMs)
  const stop = () => clearInterval(timer)
  // Without this listener an error would crash the process when nothing reads the stream.
  paced.on('error', () => undefined).on('close', stop)
  source
    .on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    .on('pause', () => {
      wasPaused = true
    })
    .on('end', stop)
    .on('error', (error) => paced.destroy(error))
    .on('close', () => {
      if (!source.readableEnded) paced.destroy()
    })
  return source.pipe(paced)
}
