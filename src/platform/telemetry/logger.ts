import { destination, type Logger, pino } from 'pino'

/**
 * One JSON line per event on standard output. Control characters of whatever a client sent are escaped by JSON, so
 * that a line stays one line. Errors show their type, message and stack, and the same of their causes.
 */
export const createLogger = (level: string, file?: string): Logger =>
  pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    destination({ dest: file ?? 1, sync: false }),
  )
