import { type DestinationStream, destination, type Logger, pino, stdSerializers } from 'pino'

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
 * An error's type, message, stack and code, with its causes' in the texts. Whatever else a library hangs on its errors stays out:
 * the command and the password that Redis refused, the bytes that an upstream sent.
 */
const errorFields = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error
  const { type, message, stack } = stdSerializers.err(error)
  return { type, message, stack, ...('code' in error && typeof error.code === 'string' && { code: error.code }) }
}

/**
 * One JSON line per event on standard output, or in a file. Control characters of whatever a client sent are escaped by JSON,
 * so that a line stays one line. Of errors it has what errorFields lists.
 */
export const createLogger = (level: string, file?: string): Logger => {
  const sink = gathering(destination({ dest: file ?? 1, sync: false }))
  const formatters = { level: (label: string) => ({ level: label }) }
  return pino({ level, base: null, timestamp: isoTime(), formatters, serializers: { err: errorFields } }, sink)
}
