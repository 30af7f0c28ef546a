import { destination, type Logger, pino } from 'pino'

/** Lines are gathered up to this many bytes, or for this long: a write for each would cost more than the line. */
const gatheredBytes = 16_384
const gatheredMs = 100

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
  const sink = destination({ dest: file ?? 1, sync: false, minLength: gatheredBytes, maxWrite: 2 * gatheredBytes })
  setInterval(() => sink.flush(), gatheredMs).unref()
  process.once('exit', () => sink.flushSync())
  return pino({ level, base: null, timestamp: isoTime(), formatters: { level: (label) => ({ level: label }) } }, sink)
}
