import { expect, test } from 'vitest'
import { canonicalJson, parseStrictJson, skipBom } from '../../src/kernel/index.ts'

function read(text: string, maxDepth = 4) {
  return parseStrictJson(Buffer.from(text), maxDepth)
}

test.each([
  '{"a":1,"b":{"a":1},"c":[{"a":1},{"a":2}]}',
  '{"a":"a","b":"a \\" b","c":"\\\\"}',
  '["a","a"]',
  '{"a":["b","b"],"b":1}',
  '[[[[]]]]',
  '[[[[]]],[[[]]]]',
  '" { [ \\" "',
  '"[[[[[ \\\\\\" [[[[["',
  '"\\ud83d\\ude00"',
  '{"a\\u0062":1,"ba":2}',
  'null',
])('parseStrictJson: %s has the value that JSON.parse returns', (text) => {
  expect(read(text)).toEqual({ ok: true, value: JSON.parse(text) })
})

test.each([
  ['{"a":1,"a":2}', 'repeated name'],
  ['{"a":1,"\\u0061":2}', 'repeated name'],
  ['{"a":1,"b":[],"a" :2}', 'repeated name'],
  ['{"__proto__":1}', 'forbidden name'],
  ['{"constructor":1}', 'forbidden name'],
  ['{"prototype":1}', 'forbidden name'],
  ['{"__pro\\u0074o__" \n\t:1}', 'forbidden name'],
  ['[[[[[]]]]]', 'too deep'],
  ['{"a":[{"a":[{}]}]}', 'too deep'],
  ['["\\\\\\"",[[[[[]]]]]]', 'too deep'],
  ['"\\u0000"', 'improper text'],
  ['"\\ud800"', 'improper text'],
  ['"\\udc00\\ud800"', 'improper text'],
  ['{"a":"\\ud800"}', 'improper text'],
  ['{"\\udc00":1}', 'improper text'],
  ['{"a":["\\u0000"]}', 'improper text'],
  ['{"\\\\":1}', 'forbidden name'],
  ['{"a":{"b":1,"b":2}}', 'repeated name'],
  ['[{"a":1},{"a":1,"b":":","a":2}]', 'repeated name'],
  ['"\\x"', 'not JSON in UTF-8'],
  ['"a', 'not JSON in UTF-8'],
  ['"a\\"', 'not JSON in UTF-8'],
  ['"a\\\\\\"', 'not JSON in UTF-8'],
  ['{"a":"b\\', 'not JSON in UTF-8'],
  ['\ufeff{}', 'not JSON in UTF-8'],
  ['{', 'not JSON in UTF-8'],
  ['', 'not JSON in UTF-8'],
  ["{'a':1}", 'not JSON in UTF-8'],
  ['"a\u0000"', 'not JSON in UTF-8'],
])('parseStrictJson: %j is rejected: %s', (text, reason) => {
  expect(read(text)).toEqual({ ok: false, reason })
})

test('skipBom: removes one byte-order mark at the start', () => {
  expect(skipBom(Buffer.from('\ufeff\ufeff{}'))).toEqual(Buffer.from('\ufeff{}'))
  for (const text of ['', '{}', '{\ufeff}', '\xef'])
    expect(skipBom(Buffer.from(text, 'latin1'))).toEqual(Buffer.from(text, 'latin1'))
})

test.each([[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80]])(
  'parseStrictJson: bytes that are not UTF-8 are rejected',
  (...bytes) => {
    expect(parseStrictJson(Uint8Array.of(0x22, ...bytes, 0x22), 4)).toEqual({ ok: false, reason: 'not JSON in UTF-8' })
  },
)

test('parseStrictJson: at most 1,000 members, counted before the text is parsed', () => {
  const members = (count: number) => Array.from({ length: count }, (_, at) => `"k${at}":${at}`).join()
  expect(read(`{${members(1_000)}}`).ok).toBe(true)
  const refused = { ok: false, reason: 'too many names' }
  expect(read(`{${members(1_001)}}`)).toEqual(refused)
  expect(read(`[{${members(500)}},{${members(501)}}]`)).toEqual(refused)
  expect(read(`{${members(1_001)},`)).toEqual(refused)
})

test('parseStrictJson: an escape in a name is not confused with a name parsed before (nodejs/node#63785)', () => {
  read('{"v8":{},"\\\\":1}')
  for (const escaped of ['\\u0061', '\\n', '\\u0000', '\\"']) {
    const result = read(`{"v8":{},"${escaped}":1}`)
    const name = String(JSON.parse(`"${escaped}"`))
    if (result.ok) expect(result.value).toEqual({ v8: {}, [name]: 1 })
    else expect(result.reason).toMatch(/forbidden name|improper text/)
  }
  expect(read('{"v8":1,"\\u0076\\u0038":2}')).toEqual({ ok: false, reason: 'repeated name' })
})

test('canonicalJson: equal values have equal texts in any order of names; different values differ', () => {
  const text = '{"a":[{"c":null,"d":"x \\"y\\""},1],"b\\"":true}'
  expect(canonicalJson({ 'b"': true, none: undefined, a: [{ d: 'x "y"', c: null }, 1] })).toBe(text)
  expect(JSON.parse(text)).toEqual({ 'b"': true, a: [{ d: 'x "y"', c: null }, 1] })
  expect(canonicalJson([undefined, 1])).toBe('[null,1]')
  expect(canonicalJson([12])).not.toBe(canonicalJson([1, 2]))
})
