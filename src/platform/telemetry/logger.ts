import { type DestinationStream, type Logger, levels, pino, stdSerializers, symbols } from 'pino'
import { errorCode, toIso } from '../../kernel/index.ts'
import { systemClock } from '../runtime/index.ts'
import { LogSink } from './log-sink.ts'

/** pino's function that formats a line. `this` is the logger or a child of it. */
type AsJson = (this: object, fields: object, message: string | undefined, level: number, time: string) => string

const isAsJson = (value: unknown): value is AsJson => typeof value === 'function'

/** The beginning of a log line, by level. */
const starts = new Map(Object.entries(levels.values).map(([label, level]) => [level, `{"level":"${label}"`]))

/** Returns the JSON of plain fields without its last brace, or undefined if only pino can represent the fields. */
const openLine = (start: string, fields: object): string | undefined => {
  try {
    const text = JSON.stringify(fields)
    return text === '{}' ? start : `${start},${text.slice(1, -1)}`
  } catch {
    return undefined
  }
}

/**
 * Formats plain lines with one JSON.stringify call, in a fifth of the time that pino needs to format each field. The
 * logger must use level names, and have no own fields, and no serializers or redaction except for `err`. Lines with
 * an error and child loggers still go through pino, whose serializers remove secrets.
 */
export const speedUpPlainLines = (logger: Logger): void => {
  const own: unknown = Reflect.get(logger, symbols.asJsonSym)
  if (!isAsJson(own)) return
  const asJson: AsJson = function (fields, message, level, time) {
    const start = this === logger && !('err' in fields) ? starts.get(level) : undefined
    const head = start === undefined ? undefined : openLine(start + time, fields)
    if (head === undefined) return own.call(this, fields, message, level, time)
    return message === undefined ? `${head}}\n` : `${head},"msg":${JSON.stringify(message)}}\n`
  }
  Reflect.set(logger, symbols.asJsonSym, asJson)
}

/** Limits of a batch, in characters and milliseconds. One write per line would cost more than the line itself. */
const maxBatchLength = 65_536
const flushIntervalMs = 100

/**
 * Returns a destination that writes lines in batches. The batching of sonic-boom copies the whole buffer for each line.
 */
const createBatchedDestination = (sink: LogSink): DestinationStream => {
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
 * pino's `timestamp` option: the time in ISO 8601, by the same clock as all stored times. A monotonic clock would ignore
 * corrections and suspended machines. Caches the text for lines of the same millisecond.
 */
const isoTime = (): (() => string) => {
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
 * Returns the type, message, stack and code of an error and of its causes. Other properties are left out, because
 * libraries attach secrets to errors: a rejected Redis password, or bytes from an upstream.
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
  const sink = new LogSink(file ?? 1, (lines) => logger.error({ lines }, 'log lines lost: destination unavailable'))
  const formatters = { level: (label: string) => ({ level: label }) }
  const options = { level, base: null, timestamp: isoTime(), formatters, serializers: { err: errorFields } }
  const logger = pino(options, createBatchedDestination(sink))
  speedUpPlainLines(logger)
  return logger
}
