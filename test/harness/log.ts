import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'

export type LogLine = Record<string, unknown> & { level: string }

export interface LogCapture {
  logger: Logger
  lines: LogLine[]
  /** Unparsed. */
  raw: string[]
  /** Levels error and fatal. A test must expect each line. */
  faults(): LogLine[]
}

export function captureLog(): LogCapture {
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
