import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'

export type LogLine = Record<string, unknown> & { level: string }

export interface LogCapture {
  logger: Logger
  lines: LogLine[]
  /** The same lines as unparsed text. */
  raw: string[]
  /** Lines at level error or fatal. A test must expect each one. */
  faults(): LogLine[]
}

/** Creates a real logger that keeps its lines in memory. */
export const captureLog = (): LogCapture => {
  const lines: LogLine[] = []
  const raw: string[] = []
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      for (const line of chunk.toString().split('\n').filter(Boolean)) {
        raw.push(line)
        lines.push(JSON.parse(line))
      }
      done()
    },
  })
  const logger = pino({ level: 'info', base: null, formatters: { level: (label) => ({ level: label }) } }, sink)
  return { logger, lines, raw, faults: () => lines.filter(({ level }) => level === 'error' || level === 'fatal') }
}
