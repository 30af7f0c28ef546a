import fc from 'fast-check'
import { type Logger, pino } from 'pino'
import { describe, expect, test, vi } from 'vitest'
import { speedUpPlainLines } from '../../../src/platform/telemetry/logger.ts'

/** One logger formats plain lines itself. */
function pair() {
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

function sameOf(log: (logger: Logger) => void): string {
  const { plain, pinos } = pair()
  log(plain.logger)
  log(pinos.logger)
  expect(plain.lines).toEqual(pinos.lines)
  expect(plain.lines).toHaveLength(1)
  return plain.lines.join('')
}

const failure = new TypeError('no')

describe('a plain line is the same as pino’s', () => {
  test('for any fields and message', () => {
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.double(), fc.integer(), fc.boolean(), fc.jsonValue())
    const fields = fc.dictionary(fc.string({ minLength: 1 }), fc.option(value, { nil: undefined }))
    const level = fc.constantFrom('trace', 'debug', 'info', 'warn', 'error', 'fatal')
    fc.assert(
      fc.property(level, fields, fc.string({ unit: 'binary' }), (at, values, message) => {
        sameOf((logger) => logger[at](values, message))
      }),
      { numRuns: 500 },
    )
  })

  test.each<[string, (logger: Logger) => void]>([
    ['without a message', (logger) => logger.info({ a: 1 })],
    ['without fields', (logger) => logger.info('only words')],
    ['with fields that are all undefined', (logger) => logger.info({ a: undefined }, 'nothing')],
    ['with an error', (logger) => logger.error({ err: failure, a: 1 }, 'failed')],
    ['that is an error', (logger) => logger.error(failure)],
    ['of a child with own fields', (logger) => logger.child({ page: 1 }).info({ a: 1 }, 'page')],
    ['of a child without own fields', (logger) => logger.child({}).info({ a: 1 }, 'page')],
    [
      'of a child with a serializer that removes a field',
      (logger) => logger.child({}, { serializers: { res: () => undefined } }).info({ res: { secret: 1 } }, 'page'),
    ],
    ['with a BigInt', (logger) => logger.info({ large: 12345678901234567890n }, 'large')],
    [
      'with a circular object',
      (logger) => {
        const round: Record<string, unknown> = { a: 1 }
        round.itself = round
        logger.info({ round }, 'round')
      },
    ],
  ])('%s', (_what, log) => void sameOf(log))
})

test('the fields of a line are serialized by one call of JSON.stringify', () => {
  const stringify = vi.spyOn(JSON, 'stringify')
  const fields = { agent: 'x'.repeat(500), quote: '"\\\u0001\ud800' }
  const line = sameOf((logger) => logger.info(fields, 'request'))
  const times = stringify.mock.calls.filter(([value]) => value === fields).length
  stringify.mockRestore()
  expect(times).toBe(1)
  expect(JSON.parse(line)).toMatchObject({ level: 'info', msg: 'request', ...fields })
})
