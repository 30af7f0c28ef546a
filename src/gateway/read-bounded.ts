import type { Readable } from 'node:stream'
import { Refusal } from '../kernel/index.ts'
import { setDeadline } from '../platform/runtime/index.ts'

/** Reads a body whole, up to `maxBytes`, within `timeoutMs` in total, however slowly it drips. */
export const readBounded = (source: Readable, maxBytes: number, timeoutMs: number): Promise<Buffer> =>
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
