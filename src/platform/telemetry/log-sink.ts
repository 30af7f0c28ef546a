import { openSync } from 'node:fs'
import sonicBoom from 'sonic-boom'

/** Maximum length of the buffer while the destination does not accept data, in characters. Further text is lost. */
const maxBufferedLength = 16 * 1_048_576
/** Maximum number of attempts to write the last text to a slow reader. */
const maxFinalAttempts = 10
/** How long to wait at exit for a write that a libuv thread has begun. */
const pendingWriteMs = 200

const wait = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

const countLines = (text: string): number => text.split('\n').length - 1

/**
 * Writes texts of whole lines to a descriptor or file, in order and without blocking. Text that is not accepted (a full
 * disk, a closed reader) is tried again with the next text, so that logging never stops the process. `onResume` gets the
 * number of lines lost meanwhile.
 */
export const createLogSink = (dest: number | string, onResume: (lostLines: number) => void) => {
  let isRefusing = false
  let isLast = false
  let isWriting = false
  let attempts = 0
  let lost = 0
  const retryEAGAIN = (): boolean => !isLast || ++attempts < maxFinalAttempts
  const fd = typeof dest === 'string' ? openSync(dest, 'a') : dest
  const sink = new sonicBoom.SonicBoom({ fd, sync: false, maxLength: maxBufferedLength, retryEAGAIN })
  sink.on('drop', (text: string) => {
    lost += countLines(text)
  })
  sink.on('error', () => {
    isRefusing = true
  })
  sink.on('write', () => {
    isRefusing = false
    const lostLines = lost
    lost = 0
    if (lostLines > 0) onResume(lostLines)
  })
  sink.on('drain', () => {
    isWriting = false
  })
  return {
    write: (text: string): void => {
      isWriting = true
      sink.write(text)
    },
    /**
     * Writes the buffer and a last text synchronously at exit, if the destination accepts data. A libuv thread would end
     * with the process, usually before it has written.
     */
    end: (text: string): void => {
      isLast = true
      // flushSync would retry a full disk forever.
      if (isRefusing) return
      try {
        if (isWriting) wait(pendingWriteMs)
        sink.flushSync()
        const last = new sonicBoom.SonicBoom({ fd, sync: true, retryEAGAIN })
        last.on('error', () => undefined)
        last.write(text)
      } catch {
        // There is no other place to report it.
      }
    },
  }
}
