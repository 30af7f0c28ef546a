import { openSync } from 'node:fs'
import sonicBoom from 'sonic-boom'

/** Where nobody takes it so much is kept, in characters; what comes beyond is lost. */
const maxBufferedLength = 16 * 1_048_576
/** Of a last text, that a reader makes wait. */
const lastTries = 10
/** What one of libuv’s threads is just writing takes no longer where it is taken at all: such a thread may wait for a core. */
const underWayMs = 200

const wait = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

const linesIn = (text: string): number => text.split('\n').length - 1

/**
 * Texts of whole lines on their way to a descriptor or file, in order; nobody waits for them. What it does not take, on a full
 * disk or with its reader gone, it is offered again with the next text: a log must not end what it tells of. `resumed` is told
 * how many lines were lost meanwhile.
 */
export const createLogSink = (dest: number | string, resumed: (lostLines: number) => void) => {
  let isRefusing = false
  let isLast = false
  let isUnderWay = false
  let tries = 0
  let lost = 0
  const retryEAGAIN = (): boolean => !isLast || ++tries < lastTries
  const fd = typeof dest === 'string' ? openSync(dest, 'a') : dest
  const sink = new sonicBoom.SonicBoom({ fd, sync: false, maxLength: maxBufferedLength, retryEAGAIN })
  sink.on('drop', (text: string) => {
    lost += linesIn(text)
  })
  sink.on('error', () => {
    isRefusing = true
  })
  sink.on('write', () => {
    isRefusing = false
    const told = lost
    lost = 0
    if (told > 0) resumed(told)
  })
  sink.on('drain', () => {
    isUnderWay = false
  })
  return {
    write: (text: string): void => {
      isUnderWay = true
      sink.write(text)
    },
    /**
     * As the process ends: what waits and a last text are written before this returns, unless nothing is taken. A thread that the
     * text were left to would end with the process, mostly before it has written it.
     */
    end: (text: string): void => {
      isLast = true
      // It would try a full disk for ever.
      if (isRefusing) return
      try {
        if (isUnderWay) wait(underWayMs)
        sink.flushSync()
        const last = new sonicBoom.SonicBoom({ fd, sync: true, retryEAGAIN })
        last.on('error', () => undefined)
        last.write(text)
      } catch {
        // There is nowhere left to say so.
      }
    },
  }
}
