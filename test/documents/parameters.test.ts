import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { anonymous } from '../../src/contract/policies.ts'
import { readDocument } from '../../src/documents/index.ts'
import { toParameterZod } from '../../src/documents/read.ts'
import { parsePathParameters } from '../../src/gateway/pipeline/stages/input.ts'

const none = ['0x5', ' 5', '5 ', '+5', '', 'five', 'NaN', 'Infinity', '1_0', '0b1']

test.each<[schema: object, accepted: [string, unknown][], refused: string[]]>([
  [
    { type: 'integer', minimum: -5, maximum: 100 },
    [
      ['5', 5],
      ['-5', -5],
      ['0', 0],
    ],
    [...none, '1e1', '05', '5.0', '1.5', '-0', '101', '9007199254740993'],
  ],
  [{ type: 'number' }, [['1.5', 1.5]], [...none, '1e3', '1.50', '.5', '5.', '1e400']],
  [
    { type: 'boolean' },
    [
      ['true', true],
      ['false', false],
    ],
    ['TRUE', '1', '', ' true'],
  ],
  [
    { type: 'string' },
    [
      ['5', '5'],
      ['true', 'true'],
    ],
    [],
  ],
  [{ enum: [1, 2] }, [['1', 1]], ['3', 'a']],
  [{ allOf: [{ type: 'integer' }] }, [['5', 5]], ['a', '5.5']],
  [
    { anyOf: [{ type: 'integer' }, { const: 'all' }] },
    [
      ['5', 5],
      ['all', 'all'],
    ],
    ['some'],
  ],
])('a path parameter of %j is read by its type, in one spelling', (schema, accepted, refused) => {
  const zod = toParameterZod(schema, 'path')
  for (const [text, value] of accepted) expect(zod.parse(text), text).toBe(value)
  for (const text of refused) expect(zod.safeParse(text).success, text).toBe(false)
})

test('a query parameter is a number in any exact spelling', () => {
  const zod = toParameterZod({ type: 'number' }, 'query')
  for (const text of ['1.0', '1e0', '1.00']) expect(zod.parse(text)).toBe(1)
  for (const text of [...none, '1e400', '9007199254740993']) expect(zod.safeParse(text).success, text).toBe(false)
})

test('a parameter that is missing has its default, or is invalid', () => {
  expect(toParameterZod({ type: 'integer', default: 20 }, 'query').optional().parse(undefined)).toBe(20)
  expect(toParameterZod({ type: 'integer' }, 'query').safeParse(undefined).success).toBe(false)
})

test('an integer in the path of a document stays text, and another spelling is 404 RESOURCE.NOT_FOUND', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-parameters-'))
  const file = join(folder, 'numbers.json')
  const operation = {
    summary: 'Read a number',
    'x-portico': { id: 'numbers.read', name: 'readNumber', chains: ['consumer'], policy: anonymous },
    parameters: [{ name: 'number', in: 'path', required: true, schema: { type: 'integer' } }],
    responses: { 200: { content: { 'application/json': { schema: { type: 'boolean' } } } } },
  }
  const root = { openapi: '3.1.0', 'x-portico': { domains: { numbers: 'Numbers.' } } }
  writeFileSync(file, JSON.stringify({ ...root, paths: { '/numbers/{number}': { get: operation } } }))
  const read = readDocument(file)
  rmSync(folder, { recursive: true, force: true })
  if ('errors' in read) throw new Error(read.errors.join())
  const readNumber = read.domains[0]?.operations.readNumber
  if (!readNumber) throw new Error('no operation')
  expect(parsePathParameters(readNumber, { number: '5' })).toEqual({ number: '5' })
  for (const number of none) expect(() => parsePathParameters(readNumber, { number })).toThrow('malformed number')
})
