import { describe, expect, test } from 'vitest'
import { parseStrictJson } from '../../src/kernel/index.ts'

const maxDepth = 3
const read = (text: string | Uint8Array) =>
  parseStrictJson(typeof text === 'string' ? new TextEncoder().encode(text) : text, maxDepth)

/** Asked without an operation's schema around it, which would refuse most of these for reasons of its own. */
describe('a JSON body', () => {
  test.each<[string, unknown]>([
    ['{"a":[[1]]}', { a: [[1]] }],
    ['[["a"],["b"],["c"],["d"]]', [['a'], ['b'], ['c'], ['d']]],
    ['[{"a":1},{"a":2}]', [{ a: 1 }, { a: 2 }]],
    ['{"a":"a","b":"a"}', { a: 'a', b: 'a' }],
    ['{"a":"__proto__","b":["constructor"]}', { a: '__proto__', b: ['constructor'] }],
    ['{"a\\"":1,"a":2}', { 'a"': 1, a: 2 }],
    ['{"a":"a\\\\","b":"{[{[{["}', { a: 'a\\', b: '{[{[{[' }],
    ['["\\ud83d\\ude00"]', ['😀']],
  ])('%s is read', (text, value) => {
    expect(read(text)).toEqual({ ok: true, value })
  })

  test.each<[string, string | Uint8Array, string]>([
    ['one deeper', '{"a":[[[1]]]}', 'too deep'],
    ['a name twice', '{"a":1,"b":{},"a":2}', 'repeated name'],
    ['a name twice, apart from its colon', '{"a" :1,"a"\t\r\n :2}', 'repeated name'],
    ['a name twice, once escaped', '{"a":1,"\\u0061":2}', 'repeated name'],
    ['__proto__', '[{"__proto__":{}}]', 'forbidden name'],
    ['an escaped __proto__', '{"\\u005f_proto__":{}}', 'forbidden name'],
    ['constructor', '{"a":{"constructor":{}}}', 'forbidden name'],
    ['prototype', '{"prototype":{}}', 'forbidden name'],
    ['a name with a backslash, for which V8 takes others', '{"a\\\\":1,"b":"{[{[{["}', 'forbidden name'],
    ['NUL', '["a\\u0000"]', 'improper text'],
    ['NUL in a name', '{"\\u0000":1}', 'improper text'],
    ['a lone surrogate', '["\\ud800"]', 'improper text'],
    ['a text that does not end', '["a\\"]', 'not JSON in UTF-8'],
    ['a byte-order mark', '\uFEFF[]', 'not JSON in UTF-8'],
    ['invalid UTF-8', Uint8Array.from([0x5b, 0x22, 0xff, 0x22, 0x5d]), 'not JSON in UTF-8'],
    ['two values', '{} {}', 'not JSON in UTF-8'],
  ])('%s is refused', (_name, text, reason) => {
    expect(read(text)).toEqual({ ok: false, reason })
  })
})
