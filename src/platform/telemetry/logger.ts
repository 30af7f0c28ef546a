import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import { errorCode, toIso } from '../../kernel/index.ts'
import { systemClock } from '../runtime/index.ts'
import { createLogSink } from './log-sink.ts'
import { speedUpPlainLines } from './plain-lines.ts'

/** Lines are gathered up to this many characters, or for this long: a write for each would cost more than the line. */
const maxBatchLength = 65_536
const flushIntervalMs = 100

/** A destination that hands its lines on in few large texts; sonic-boom's own gathering copies all that waits for each line. */
const createBatchedDestination = (sink: ReturnType<typeof createLogSink>): DestinationStream => {
  let waiting = ''
  const handOn = (): void => {
    if (waiting === '') return
    const text = waiting
    waiting = ''
    sink.write(text)
  }
  setInterval(handOn, flushIntervalMs).unref()
  process.once('exit', () => sink.end(waiting))
  return {
    write: (line) => {
      waiting += line
      if (waiting.length >= maxBatchLength) handOn()
    },
  }
}

/**
 * A line's time as ISO 8601, by the same clock as all that is stored: the one that only runs on knows nothing of a clock that is
 * set right or a machine that slept. Lines of one millisecond share the text.
 */
const isoTime = () => {
  let last = 0
  let text = ''
  return (): string => {
    const now = systemClock.now()
    if (now !== last) {
      last = now
      text = `,"time":"${toIso(now)}"`
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
  return { type, message, stack, code: errorCode(error) }
}

/**
 * One JSON line per event on standard output, or in a file. Control characters of whatever a client sent are escaped by JSON,
 * so that a line stays one line. Of errors it has what errorFields lists.
 */
export const createLogger = (level: string, file?: string): Logger => {
  const sink = createLogSink(file ?? 1, (lines) =>
    logger.error({ lines }, 'lines of the log were lost: nothing took them'),
  )
  const formatters = { level: (label: string) => ({ level: label }) }
  const form = { level, base: null, timestamp: isoTime(), formatters, serializers: { err: errorFields } }
  const logger = pino(form, createBatchedDestination(sink))
  speedUpPlainLines(logger)
  return logger
}
