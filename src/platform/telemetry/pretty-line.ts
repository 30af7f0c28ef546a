import { styleText } from 'node:util'
import { isRecord } from '../../kernel/index.ts'

type Style = Parameters<typeof styleText>[0]
type Terminal = NonNullable<Parameters<typeof styleText>[2]>['stream']

const levelStyles = new Map<unknown, Style>([
  ['trace', 'gray'],
  ['debug', 'gray'],
  ['info', 'green'],
  ['warn', 'yellow'],
  ['error', 'red'],
  ['fatal', 'red'],
])

/** Characters that could move the cursor or change the direction of the text. */
const unsafe = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

const word = /^[^\s"=]+$/

/**
 * Returns a function that formats a JSON line for people, with the time in UTC:
 * `14:47:02.123Z INFO  request status=200 ms=3.1`. Colors depend on the terminal, NO_COLOR and FORCE_COLOR.
 */
export function createPrettyFormatter(stream: Terminal): (line: string) => string {
  const style = (format: Style, text: string): string => styleText(format, text, { stream })
  return (line) => {
    const fields = parseFields(line)
    if (!fields) return line
    const { level, time, msg, err, ...others } = fields
    const shown = isRecord(err) ? { ...others, errorCode: err.code } : { ...others, err }
    const texts = [
      style('dim', String(time).slice(11)),
      style(levelStyles.get(level) ?? 'reset', String(level).toUpperCase().padEnd(5)),
      ...(msg === undefined ? [] : [style('bold', escapeUnsafe(String(msg)))]),
      ...Object.entries(shown)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => `${style('dim', `${escapeUnsafe(name)}=`)}${formatValue(value)}`),
    ]
    return `${texts.join(' ')}${formatStack(err)}\n`
  }
}

function parseFields(line: string): Record<string, unknown> | undefined {
  try {
    const fields: unknown = JSON.parse(line)
    return isRecord(fields) ? fields : undefined
  } catch {
    return undefined
  }
}

function escapeUnsafe(text: string): string {
  return text.replace(unsafe, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
}

function formatValue(value: unknown): string {
  return escapeUnsafe(typeof value === 'string' && word.test(value) ? value : JSON.stringify(value))
}

/** Returns the stack on its own lines, indented. */
function formatStack(error: unknown): string {
  return isRecord(error) && typeof error.stack === 'string'
    ? error.stack
        .split('\n')
        .map((line) => `\n    ${escapeUnsafe(line)}`)
        .join('')
    : ''
}
