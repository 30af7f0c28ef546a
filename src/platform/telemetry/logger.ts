import { type DestinationStream, destination, type Logger, pino } from 'pino'

type SonicBoom = ReturnType<typeof destination>

/** Lines are gathered up to this many characters, or for this long: a write for each would cost more than the line. */
const gatheredLength = 16_384
const gatheredMs = 100

/** A destination that hands its lines on in few large texts; sonic-boom's own gathering copies all that waits for each line. */
const gathering = (sink: SonicBoom): DestinationStream => {
  let waiting = ''
  const handOn = (): void => {
    if (waiting === '') return
    const text = waiting
    waiting = ''
    sink.write(text)
  }
  setInterval(handOn, gatheredMs).unref()
  process.once('exit', () => {
    handOn()
    sink.flushSync()
  })
  return {
    write: (line) => {
      waiting += line
      if (waiting.length >= gatheredLength) handOn()
    },
  }
}

/** A line's time as ISO 8601; lines of one millisecond share the text. */
const isoTime = () => {
  let last = 0
  let text = ''
  return (): string => {
    const now = Math.floor(performance.timeOrigin + performance.now())
    if (now !== last) {
      last = now
      text = `,"time":"${new Date(now).toISOString()}"`
    }
    return text
  }
}

/**
 * One JSON line per event on standard output, or in a file. Control characters of whatever a client sent are escaped by JSON,
 * so that a line stays one line. Errors show their type, message and stack, and the same of their causes.
 */
export const createLogger = (level: string, file?: string): Logger => {
  const sink = gathering(destination({ dest: file ?? 1, sync: false }))
  return pino({ level, base: null, timestamp: isoTime(), formatters: { level: (label) => ({ level: label }) } }, sink)
}
