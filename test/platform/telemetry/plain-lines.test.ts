import fc from 'fast-check'
import { type Logger, pino } from 'pino'
import { describe, expect, test, vi } from 'vitest'
import { speedUpPlainLines } from '../../../src/platform/telemetry/logger.ts'

/** Two loggers of the same form, of which one writes plain lines, and what each has written. */
const pair = () => {
  const open = (): { logger: Logger; lines: string[] } => {
    const lines: string[] = []
    const timestamp = () => ',"time":"2026-01-31T12:00:00.000Z"'
    const form = { level: 'trace', base: null, timestamp, formatters: { level: (level: string) => ({ level }) } }
    return { logger: pino(form, { write: (line) => void lines.push(line) }), lines }
  }
  const [plain, pinos] = [open(), open()]
  speedUpPlainLines(plain.logger)
  return { plain, pinos }
}

const sameOf = (log: (logger: Logger) => void): string => {
  const { plain, pinos } = pair()
  log(plain.logger)
  log(pinos.logger)
  expect(plain.lines).toEqual(pinos.lines)
  expect(plain.lines).toHaveLength(1)
  return plain.lines.join('')
}

const failure = new TypeError('no')

describe('a line has, letter for letter, what pino would have written', () => {
  test('whatever its fields and its message are', () => {
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.integer(), fc.boolean(), fc.jsonValue())
    const fields = fc.dictionary(fc.string({ minLength: 1 }), fc.option(value, { nil: undefined }))
    const level = fc.constantFrom('trace', 'debug', 'info', 'warn', 'error', 'fatal')
    fc.assert(
      fc.property(level, fields, fc.string({ unit: 'binary' }), (at, told, message) => {
        sameOf((logger) => logger[at](told, message))
      }),
      { numRuns: 500 },
    )
  })

  test.each<[string, (logger: Logger) => void]>([
    ['without a message', (logger) => logger.info({ a: 1 })],
    ['without fields', (logger) => logger.info('only words')],
    ['of fields of which none has a value', (logger) => logger.info({ a: undefined }, 'nothing')],
    ['with an error', (logger) => logger.error({ err: failure, a: 1 }, 'failed')],
    ['that is an error', (logger) => logger.error(failure)],
    ['of a child with fields of its own', (logger) => logger.child({ page: 1 }).info({ a: 1 }, 'page')],
    ['of a child without any', (logger) => logger.child({}).info({ a: 1 }, 'page')],
    [
      'of a child that serializes more, or leaves it out',
      (logger) => logger.child({}, { serializers: { res: () => undefined } }).info({ res: { secret: 1 } }, 'page'),
    ],
    ['with a number that JSON does not know', (logger) => logger.info({ most: 12345678901234567890n }, 'large')],
    [
      'with what contains itself',
      (logger) => {
        const round: Record<string, unknown> = { a: 1 }
        round.itself = round
        logger.info({ round }, 'round')
      },
    ],
  ])('%s', (_what, log) => void sameOf(log))
})

test('V8 writes the fields of a line at once', () => {
  const stringify = vi.spyOn(JSON, 'stringify')
  const fields = { agent: 'x'.repeat(500), quote: '"\\\u0001\ud800' }
  const line = sameOf((logger) => logger.info(fields, 'request'))
  const times = stringify.mock.calls.filter(([value]) => value === fields).length
  stringify.mockRestore()
  expect(times).toBe(1)
  expect(JSON.parse(line)).toMatchObject({ level: 'info', msg: 'request', ...fields })
})
