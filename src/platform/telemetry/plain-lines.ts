import { type Logger, levels, symbols } from 'pino'

/** pino's function that formats a line. `this` is the logger or a child of it. */
type AsJson = (this: object, fields: object, message: string | undefined, level: number, time: string) => string

const isAsJson = (value: unknown): value is AsJson => typeof value === 'function'

const starts = new Map(Object.entries(levels.values).map(([label, level]) => [level, `{"level":"${label}"`]))

/** The JSON of plain fields without its last brace; undefined if JSON cannot represent them and pino can. */
const headOf = (start: string, fields: object): string | undefined => {
  try {
    const text = JSON.stringify(fields)
    return text === '{}' ? start : `${start},${text.slice(1, -1)}`
  } catch {
    return undefined
  }
}

/**
 * Formats plain lines with one JSON.stringify call, in a fifth of the time that pino needs to format each field. The
 * logger must use level names, and have no fields of its own and no serializers or redaction except for `err`. Lines with
 * an error and child loggers still go through pino, whose serializers remove secrets.
 */
export const speedUpPlainLines = (logger: Logger): void => {
  const own: unknown = Reflect.get(logger, symbols.asJsonSym)
  if (!isAsJson(own)) return
  const asJson: AsJson = function (fields, message, level, time) {
    const start = this === logger && !('err' in fields) ? starts.get(level) : undefined
    const head = start === undefined ? undefined : headOf(start + time, fields)
    if (head === undefined) return own.call(this, fields, message, level, time)
    return message === undefined ? `${head}}\n` : `${head},"msg":${JSON.stringify(message)}}\n`
  }
  Reflect.set(logger, symbols.asJsonSym, asJson)
}
