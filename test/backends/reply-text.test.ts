import { expect, test } from 'vitest'
import { z } from 'zod'
import { replyText } from '../../src/backends/index.ts'
import { maxReplyDepth } from '../../src/kernel/index.ts'

function nested(depth: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < depth; level++) value = level % 2 ? [value] : { a: value }
  return value
}
function textOf(reply: unknown, schema: z.ZodType = z.unknown()) {
  return replyText(schema, reply, 1_000_000, (internal) => new Error(internal))
}

test('replyText: a reply nested more than 64 times is refused, also in a field that the schema does not declare', () => {
  expect(JSON.parse(textOf(nested(maxReplyDepth)))).toEqual(nested(maxReplyDepth))
  const deep = 'reply is nested more than 64 times'
  for (const depth of [maxReplyDepth + 1, 20_000]) {
    expect(() => textOf(nested(depth))).toThrow(deep)
    expect(() => textOf({ id: '1', extra: nested(depth) }, z.object({ id: z.string() }))).toThrow(deep)
  }
})

test('replyText: a cycle is refused', () => {
  const cycle: { self?: unknown } = {}
  cycle.self = cycle
  expect(() => textOf(cycle)).toThrow('reply is nested more than 64 times')
})

test.each([Number.NaN, Number.POSITIVE_INFINITY])(
  'replyText: %s is refused, because JSON would write null',
  (number) => {
    const refused = 'reply has a value that JSON cannot express'
    expect(() => textOf(number)).toThrow(refused)
    expect(() => textOf({ id: null, details: [{ number }] })).toThrow(refused)
    const declared = z.object({ id: z.string() })
    expect(textOf({ id: 'null', extra: number }, declared)).toBe('{"id":"null"}')
    expect(textOf({ id: null, numbers: [0, -1.5] })).toBe('{"id":null,"numbers":[0,-1.5]}')
  },
)

test.each<[name: string, value: unknown]>([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['a BigInt', 1n],
  ['a function', () => 1],
  ['a symbol', Symbol('a')],
  ['undefined in an array', [undefined]],
  ['a gap in an array', new Array(1)],
  ['an invalid date', new Date(Number.NaN)],
  ['a Map', new Map([['a', 1]])],
  ['an error', new Error('a')],
])('replyText: %s under z.unknown() is refused, at every depth, and an undeclared one is not', (_name, value) => {
  for (const reply of [value, { a: value }, { a: [{ b: value }] }])
    expect(() => textOf(reply)).toThrow('reply has a value that JSON cannot express')
  expect(textOf({ id: '1', extra: value }, z.object({ id: z.string() }))).toBe('{"id":"1"}')
})

test('replyText: a date becomes a text, and an undefined member is omitted', () => {
  const reply = { at: new Date(0), none: undefined, list: [null, 0, -1.5, true, ''] }
  expect(textOf(reply)).toBe('{"at":"1970-01-01T00:00:00.000Z","list":[null,0,-1.5,true,""]}')
  expect(textOf(undefined)).toBe('null')
})
