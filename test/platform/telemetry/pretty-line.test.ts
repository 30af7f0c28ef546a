import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createPrettyFormatter } from '../../../src/platform/telemetry/pretty-line.ts'
import { needs } from '../../harness/needs.ts'

const format = createPrettyFormatter(new PassThrough())
const time = '2026-01-31T12:00:00.000Z'
function line(fields: object): string {
  return format(`${JSON.stringify({ level: 'info', time, ...fields })}\n`)
}

test('a line has the time, the level, the message and the fields', () => {
  const fields = {
    status: 200,
    ms: 3.1,
    userAgent: 'curl/8 (x)',
    empty: '',
    nested: { a: [1] },
    none: null,
    msg: 'request',
  }
  expect(line(fields)).toBe(
    '12:00:00.000Z INFO  request status=200 ms=3.1 userAgent="curl/8 (x)" empty="" nested={"a":[1]} none=null\n',
  )
})

test('the stack of an error follows on indented lines', () => {
  const err = { type: 'Error', message: 'no', stack: 'Error: no\n    at a.ts:1', code: 'E_NO' }
  expect(line({ level: 'error', msg: 'failed', err, code: 'X' })).toBe(
    '12:00:00.000Z ERROR failed code=X errorCode=E_NO\n    Error: no\n        at a.ts:1\n',
  )
  expect(line({ level: 'error', err: 'text' })).toBe('12:00:00.000Z ERROR err=text\n')
})

test.each(['\u001b[2J', 'a\nb', '\u009b1m', '\u202e', '\u2028', '\u200b', 'a\tb'])(
  'a client cannot control the terminal with %j',
  (hostile) => {
    const shown = line({ [hostile]: hostile, msg: hostile, err: { stack: hostile } })
    expect(shown).toMatch(/^[\p{L}\p{N}\p{P}\p{S}\p{Zs}\n]+$/u)
    expect(shown.split('\n')).toHaveLength(hostile.includes('\n') ? 4 : 3)
  },
)

test('a line that is not a JSON object stays unchanged', () => {
  for (const text of ['not JSON\n', '5\n', '{"cut\n']) expect(format(text)).toBe(text)
})

const telemetry = JSON.stringify(new URL('../../../src/platform/telemetry/index.ts', import.meta.url).href)

/** `script` provides a pseudo-terminal. */
function loggedBy(format: string, isTerminal: boolean, variables: NodeJS.ProcessEnv = {}): string {
  // Node prints no color if CI is set.
  const { NO_COLOR: _, FORCE_COLOR: _forced, CI: _ci, ...env } = process.env
  const program = `import { createLogger } from ${telemetry}; createLogger('info', undefined, '${format}').info('hello')`
  const node = [process.execPath, '--input-type=module', '-e', program]
  const command = isTerminal
    ? ['/usr/bin/script', '-qec', node.map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' '), '/dev/null']
    : node
  const [file = '', ...args] = command
  const own = { TERM: 'xterm-256color', ...variables }
  const { stdout } = spawnSync(file, args, { env: { ...env, ...own }, encoding: 'utf8', timeout: 60_000 })
  return stdout.trim().replaceAll('\u001b', 'ESC')
}

const colored = /^ESC\[2m[\d:.]+ZESC\[22m ESC\[32mINFO /
const plain = /^[\d:.]+Z INFO {2}hello$/
const json = /^\{"level":"info","time":"[^"]+","msg":"hello"\}$/

test.each([
  ['auto', {}, colored],
  ['auto', { NO_COLOR: '1' }, plain],
  ['pretty', { NO_COLOR: '1' }, plain],
  ['json', {}, json],
])(
  'log.format %s on a terminal with %j',
  needs(existsSync('/usr/bin/script'), 'script(1) is not installed'),
  (format, variables, line) => {
    expect(loggedBy(format, true, variables)).toMatch(line)
  },
)

test.each([
  ['auto', {}, json],
  ['json', {}, json],
  ['pretty', {}, plain],
  ['pretty', { FORCE_COLOR: '1' }, colored],
])('log.format %s into a pipe with %j', (format, variables, line) => {
  expect(loggedBy(format, false, variables)).toMatch(line)
})
