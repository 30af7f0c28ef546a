import { PassThrough, type Readable } from 'node:stream'
import { type MaybePromise, Refusal } from '../kernel/index.ts'

export interface Pace {
  windowMs: number
  /** Fewer than these in a window, though more were wanted, are too few. */
  bytes: number
}

/**
 * The bytes of an upload for as long as they come: one that drips ends in 408. A window in which whoever reads has made
 * the source wait says nothing of the client. When all have come `isThere` is asked, and they end only if it does not throw.
 */
export const paced = (source: Readable, { windowMs, bytes }: Pace, isThere: () => MaybePromise<void>): Readable => {
  const through = new PassThrough({
    flush: (done) => {
      Promise.try(isThere).then(() => done(), done)
    },
  })
  let arrived = 0
  let isHeld = false
  const timer = setInterval(() => {
    if (arrived < bytes && !isHeld)
      through.destroy(new Refusal('REQUEST.TIMEOUT', { internal: 'an upload that drips' }))
    arrived = 0
    isHeld = source.isPaused()
  }, windowMs)
  const over = () => clearInterval(timer)
  // Whoever reads may be gone, or may never have come.
  through.on('error', () => undefined).on('close', over)
  source
    .on('data', (chunk: Buffer) => {
      arrived += chunk.length
    })
    .on('pause', () => {
      isHeld = true
    })
    .on('end', over)
    .on('error', (error) => through.destroy(error))
    .on('close', () => {
      if (!source.readableEnded) through.destroy()
    })
  return source.pipe(through)
}
