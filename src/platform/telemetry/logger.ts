import { type DestinationStream, type Logger, levels, pino, stdSerializers, symbols } from 'pino'
import { errorCode, reasonOf, toIso } from '../../kernel/index.ts'
import { isKnownCondition } from '../dependency-log.ts'
import { systemClock } from '../runtime/index.ts'
import { LogSink } from './log-sink.ts'
import { createPrettyFormatter } from './pretty-line.ts'

/** pino's function that formats a line. `this` is the logger or a child of it. */
type AsJson = (this: object, fields: object, message: string | undefined, level: number, time: string) => string

const starts = new Map(Object.entries(levels.values).map(([label, level]) => [level, `{"level":"${label}"`]))

/**
 * Formats plain lines with one JSON.stringify call, in a fifth of the time that pino needs. Requires a logger with
 * level names, without its own fields, and without serializers or redaction except for `err`. Lines with an error and
 * child loggers still use pino, whose serializers remove secrets.
 */
export function speedUpPlainLines(logger: Logger): void {
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

/** In characters. One write per line would cost more than the line itself. */
const maxBatchLength = 65_536
const flushIntervalMs = 100

/** A process can have many loggers, such as those of a test. One listener serves all of them. */
const endings: (() => void)[] = []

export type LogFormat = 'auto' | 'json' | 'pretty'

/**
 * Writes to standard output unless `file` is set, a path or a descriptor. `auto` is `pretty` on a terminal and `json` elsewhere. Both formats
 * escape control characters in client input, so a client cannot forge a line. With a `worker`, each line has its number,
 * and other workers can write to the same destination.
 */
export function createLogger(
  level: string,
  file?: string | number,
  format: LogFormat = 'json',
  worker: number | null = null,
): Logger {
  const isPretty = format === 'pretty' || (format === 'auto' && file === undefined && process.stdout.isTTY)
  const reportLost = (lines: number): void => logger.error({ lines }, 'log lines lost: destination unavailable')
  const sink = new LogSink(file ?? 1, reportLost, worker !== null)
  const formatters = { level: (label: string) => ({ level: label }) }
  const options = { level, base: null, timestamp: isoTime(worker), formatters, serializers: { err: errorFields } }
  const formatLine = isPretty ? createPrettyFormatter(process.stdout) : undefined
  const logger = pino(options, new BatchedDestination(sink, formatLine))
  speedUpPlainLines(logger)
  return logger
}

/**
 * Writes lines to the destination of a logger, at any log level. Resolves once it has accepted them. Rejects otherwise;
 * then they may be written later. No line of the log can be between the parts of such a line.
 */
export async function writeLines(logger: Logger, lines: string, signal: AbortSignal): Promise<void> {
  const destination: unknown = Reflect.get(logger, symbols.streamSym)
  if (!(destination instanceof BatchedDestination)) throw new TypeError('not a logger of createLogger')
  await destination.writeThrough(lines, signal)
}

function isAsJson(value: unknown): value is AsJson {
  return typeof value === 'function'
}

/** Undefined if only pino can represent the fields. */
function openLine(start: string, fields: object): string | undefined {
  try {
    const text = JSON.stringify(fields)
    return text === '{}' ? start : `${start},${text.slice(1, -1)}`
  } catch {
    return undefined
  }
}

/** Uses the clock of all stored times. A monotonic clock would ignore clock corrections and suspensions. */
function isoTime(worker: number | null): () => string {
  const field = worker === null ? '' : `,"worker":${worker}`
  let last = 0
  let text = ''
  return (): string => {
    const now = systemClock.now()
    if (now !== last) {
      last = now
      text = `,"time":"${toIso(now)}"${field}`
    }
    return text
  }
}

/**
 * Omits other properties, because libraries attach secrets to errors: a rejected Redis password, or bytes from an
 * upstream.
 */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { type, message, stack } = stdSerializers.err(error)
  const code = errorCode(error)
  return isKnownCondition(error) ? { type, message: reasonOf(error), code } : { type, message, stack, code }
}

/** The batching of sonic-boom copies the whole buffer for each line. */
class BatchedDestination implements DestinationStream {
  readonly #sink: LogSink
  readonly #format: ((line: string) => string) | undefined
  #batch = ''

  constructor(sink: LogSink, format: ((line: string) => string) | undefined) {
    this.#sink = sink
    this.#format = format
    setInterval(() => this.#flush(), flushIntervalMs).unref()
    if (endings.push(() => sink.end(this.#batch)) === 1) process.once('exit', endAll)
  }

  write(line: string): void {
    this.#batch += this.#format ? this.#format(line) : line
    if (this.#batch.length >= maxBatchLength) this.#flush()
  }

  writeThrough(lines: string, signal: AbortSignal): Promise<void> {
    this.#flush()
    return this.#sink.writeThrough(lines, signal)
  }

  #flush(): void {
    if (this.#batch === '') return
    const text = this.#batch
    this.#batch = ''
    this.#sink.write(text)
  }
}

function endAll(): void {
  for (const end of endings) end()
}
