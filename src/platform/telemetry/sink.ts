import sonicBoom from 'sonic-boom'

/** Where nobody takes it so much is kept, in characters; what comes beyond is lost. */
const mostWaiting = 16 * 1_048_576
/** Of a last text, that a reader makes wait. */
const lastTries = 10

const linesIn = (text: string): number => text.split('\n').length - 1

/**
 * Texts of whole lines on their way to a descriptor or file, in order; nobody waits for them. What it does not take, on a full
 * disk or with its reader gone, it is offered again with the next text: a log must not end what it tells of. `resumed` is told
 * how many lines were lost meanwhile.
 */
export const createSink = (dest: number | string, resumed: (lostLines: number) => void) => {
  let isRefusing = false
  let isLast = false
  let tries = 0
  let lost = 0
  const retryEAGAIN = (): boolean => !isLast || ++tries < lastTries
  const sink = new sonicBoom.SonicBoom({ dest, sync: false, maxLength: mostWaiting, retryEAGAIN })
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
  return {
    write: (text: string): void => {
      sink.write(text)
    },
    /** As the process ends: what waits is written before this returns, unless nothing is taken. */
    flush: (): void => {
      isLast = true
      // It would try a full disk for ever.
      if (isRefusing) return
      try {
        sink.flushSync()
      } catch {
        // There is nowhere left to say so.
      }
    },
  }
}
