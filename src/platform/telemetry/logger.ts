import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'
import { errorCode, toIso } from '../../kernel/index.ts'
import { systemClock } from '../runtime/index.ts'
import { createLogSink } from './log-sink.ts'
import { speedUpPlainLines } from './plain-lines.ts'

/** Lines are written in batches of up to this many characters or milliseconds. One write per line costs more than the line. */
const maxBatchLength = 65_536
const flushIntervalMs = 100

/** A destination that writes lines in batches. sonic-boom's own batching copies the whole buffer for each line. */
const createBatchedDestination = (sink: ReturnType<typeof createLogSink>): DestinationStream => {
  let batch = ''
  const flush = (): void => {
    if (batch === '') return
    const text = batch
    batch = ''
    sink.write(text)
  }
  setInterval(flush, flushIntervalMs).unref()
  process.once('exit', () => sink.end(batch))
  return {
    write: (line) => {
      batch += line
      if (batch.length >= maxBatchLength) flush()
    },
  }
}

/**
 * Formats a line's time as ISO 8601, by the same clock as all stored times: a monotonic clock ignores corrections and
 * suspended machines. Caches the text for lines of the same millisecond.
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
 * An error's type, message, stack and code, including its causes. Other properties are left out: libraries attach secrets
 * such as a rejected Redis password, or bytes from an upstream.
 */
const errorFields = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error
  const { type, message, stack } = stdSerializers.err(error)
  return { type, message, stack, code: errorCode(error) }
}

/**
 * Creates a logger that writes one JSON line per event to standard output or a file. JSON escapes control characters in
 * client input, so an event stays one line.
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
