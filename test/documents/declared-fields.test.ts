import { describe, expect, test } from 'vitest'
import { toZod } from '../../src/documents/json-schema.ts'

const text = { type: 'string' }
function object(properties: object, more: object = {}) {
  return { type: 'object', properties, ...more }
}

const card = { lastDigits: '4242', fullPan: '4242424242424242' }
const cardSchema = object({ lastDigits: text }, { required: ['lastDigits'] })
const account = object({ kind: { const: 'account' }, name: text }, { required: ['kind'] })
const operator = object({ kind: { const: 'operator' }, note: text }, { required: ['kind'] })
const tree = {
  ...object({ name: text, children: { type: 'array', items: { $ref: '#/$defs/__schema0' } } }),
  $defs: { __schema0: object({ name: text, children: { type: 'array', items: { $ref: '#/$defs/__schema0' } } }) },
}

describe('an undeclared field', () => {
  test.each<[place: string, schema: object, value: unknown, kept: unknown]>([
    ['the top level', cardSchema, card, { lastDigits: '4242' }],
    ['an array', { type: 'array', items: cardSchema }, [card], [{ lastDigits: '4242' }]],
    ['a tuple', { type: 'array', prefixItems: [cardSchema], items: false }, [card], [{ lastDigits: '4242' }]],
    ['an object', object({ card: cardSchema }), { card, x: 1 }, { card: { lastDigits: '4242' } }],
    ['an object without a type', { properties: { lastDigits: text } }, card, { lastDigits: '4242' }],
    ['a nullable object', { ...cardSchema, type: ['object', 'null'] }, card, { lastDigits: '4242' }],
    ['null or an object', { anyOf: [cardSchema, { type: 'null' }] }, card, { lastDigits: '4242' }],
    [
      'parts of allOf',
      { allOf: [cardSchema, object({ status: text }), { required: ['status'] }] },
      { ...card, status: 'ACTIVE' },
      { lastDigits: '4242', status: 'ACTIVE' },
    ],
    [
      'an alternative of oneOf that does not match',
      { oneOf: [account, operator] },
      { kind: 'account', name: 'n', note: 'secret' },
      { kind: 'account', name: 'n' },
    ],
    [
      'an alternative of anyOf in an array',
      { type: 'array', items: { anyOf: [account, operator] } },
      [{ kind: 'operator', name: 'secret', note: 'n' }],
      [{ kind: 'operator', note: 'n' }],
    ],
    [
      'a recursive schema',
      tree,
      { name: 'a', pinHash: 'x', children: [{ name: 'b', pinHash: 'x', children: [{ name: 'c', pinHash: 'x' }] }] },
      { name: 'a', children: [{ name: 'b', children: [{ name: 'c' }] }] },
    ],
    [
      'the values of a map',
      { type: 'object', additionalProperties: cardSchema },
      { first: card },
      { first: { lastDigits: '4242' } },
    ],
    [
      'the values of patternProperties',
      { type: 'object', patternProperties: { '^c': cardSchema } },
      { c1: card, x: 1 },
      { c1: { lastDigits: '4242' } },
    ],
    ['contains without items', { contains: cardSchema }, [card], [{ lastDigits: '4242' }]],
  ])('of a reply is removed in %s, and of a request is invalid', (_, schema, value, kept) => {
    expect(toZod(schema, 'output').parse(value)).toEqual(kept)
    expect(toZod(schema, 'input').safeParse(value).success).toBe(false)
    expect(toZod(schema, 'input').safeParse(kept).success).toBe(true)
  })

  test.each([
    ['additionalProperties: true', object({ name: text }, { additionalProperties: true })],
    ['no fields at all', { type: 'object' }],
    ['any value', {}],
  ])('is declared by a schema with %s', (_, schema) => {
    for (const io of ['input', 'output'] as const)
      expect(toZod(schema, io).parse({ more: card })).toEqual({ more: card })
  })

  test('of a reply is an error if the schema sets additionalProperties: false', () => {
    expect(toZod(object({ name: text }, { additionalProperties: false }), 'output').safeParse(card).success).toBe(false)
  })

  test('can have the name of a keyword', () => {
    const schema = object({ properties: text, type: text, required: text })
    const value = { properties: 'a', type: 'b', required: 'c' }
    expect(toZod(schema, 'output').parse({ ...value, x: 1 })).toEqual(value)
  })
})

test.each<[string, object, unknown]>([
  ['required next to allOf', { allOf: [cardSchema, { required: ['status'] }] }, { lastDigits: '1' }],
  ['required for a field without a schema', object({}, { required: ['status'] }), {}],
  ['minLength without a type', { minLength: 2 }, 'a'],
  ['minimum without a type', object({ n: { minimum: 2 } }), { n: 1 }],
  ['items without a type', { items: text }, [1]],
  ['properties without a type', { properties: { n: text } }, { n: 1 }],
])('%s is checked', (_, schema, value) => {
  for (const io of ['input', 'output'] as const) expect(toZod(schema, io).safeParse(value).success).toBe(false)
})

describe('a field that only the other direction has', () => {
  const fields = { id: { type: 'string', readOnly: true }, pin: { type: 'string', writeOnly: true }, name: text }
  const whole = { id: 'a', pin: '1234', name: 'n' }
  const nested = object({ card: { allOf: [object(fields), { required: ['name'] }] } })

  test.each<[string, object, (value: object) => unknown]>([
    ['properties', object(fields, { required: ['id', 'pin', 'name'] }), (value) => value],
    ['properties with further fields', object(fields, { additionalProperties: true }), (value) => value],
    ['a part of allOf', nested, (value) => ({ card: value })],
    ['an alternative', { anyOf: [object(fields), { type: 'null' }] }, (value) => value],
  ])('is invalid in a request if readOnly, and removed from a reply if writeOnly: %s', (_, schema, toValue) => {
    expect(toZod(schema, 'input').safeParse(toValue(whole)).success).toBe(false)
    expect(toZod(schema, 'input').parse(toValue({ pin: '1234', name: 'n' }))).toEqual(
      toValue({ pin: '1234', name: 'n' }),
    )
    expect(toZod(schema, 'output').parse(toValue(whole))).toEqual(toValue({ id: 'a', name: 'n' }))
  })
})

test('a default is added to a request and a reply, at every depth', () => {
  const schema = object({ size: { type: 'integer', default: 10 }, inner: object({ sort: { ...text, default: 'a' } }) })
  for (const io of ['input', 'output'] as const)
    expect(toZod(schema, io).parse({ inner: {} })).toEqual({ size: 10, inner: { sort: 'a' } })
})
