import { describe, expect, test } from 'vitest'
import { inlineReferences, toZod } from '../../src/documents/json-schema.ts'

/** The keywords of JSON Schema 2020-12 that restrict a value, with a schema, a valid and an invalid value. */
const checked: [keyword: string, schema: object, valid: unknown, invalid: unknown][] = [
  ['type', { type: 'string' }, 'a', 1],
  ['enum', { enum: ['a', 1] }, 'a', 'b'],
  ['enum next to pattern', { enum: ['a', 'b'], pattern: '^a' }, 'a', 'b'],
  ['enum of objects', { enum: [{ a: 1 }] }, { a: 1 }, { a: 2 }],
  ['const', { const: 5 }, 5, 6],
  ['const next to type', { type: 'string', const: 5 }, undefined, 5],
  ['multipleOf', { multipleOf: 5 }, 10, 11],
  ['maximum', { maximum: 5 }, 5, 6],
  ['exclusiveMaximum', { exclusiveMaximum: 5 }, 4, 5],
  ['minimum', { minimum: 5 }, 5, 4],
  ['exclusiveMinimum', { exclusiveMinimum: 5 }, 6, 5],
  ['maxLength', { maxLength: 2 }, 'ab', 'abc'],
  ['minLength', { minLength: 2 }, 'ab', 'a'],
  ['pattern', { pattern: '^a' }, 'ab', 'b'],
  ['format', { format: 'uuid' }, '01990000-0000-7000-8000-000000000001', 'a'],
  ['format int32', { type: 'integer', format: 'int32' }, 2 ** 31 - 1, 2 ** 31],
  ['maxItems', { maxItems: 1 }, [1], [1, 2]],
  ['minItems', { minItems: 1 }, [1], []],
  [
    'uniqueItems',
    { uniqueItems: true },
    [{ a: 1 }, { a: 2 }],
    [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
    ],
  ],
  ['contains', { contains: { const: 1 } }, [1, 2], [2]],
  ['minContains', { contains: { const: 1 }, minContains: 2 }, [1, 1], [1]],
  ['maxContains', { contains: { const: 1 }, maxContains: 1 }, [1], [1, 1]],
  ['items', { items: { type: 'number' } }, [1], ['a']],
  ['prefixItems', { prefixItems: [{ type: 'number' }] }, [1, 'a'], ['a']],
  ['maxProperties', { maxProperties: 1 }, { a: 1 }, { a: 1, b: 1 }],
  ['minProperties', { minProperties: 1 }, { a: 1 }, {}],
  ['required', { required: ['a'] }, { a: 1 }, {}],
  ['properties', { properties: { a: { type: 'number' } } }, { a: 1 }, { a: 'a' }],
  ['patternProperties', { patternProperties: { '^a': { type: 'number' } } }, { ab: 1 }, { ab: 'a' }],
  ['additionalProperties', { additionalProperties: { type: 'number' } }, { a: 1 }, { a: 'a' }],
  ['additionalProperties false', { properties: { a: {} }, additionalProperties: false }, { a: 1 }, { b: 1 }],
  ['propertyNames', { propertyNames: { pattern: '^a' } }, { ab: 1 }, { b: 1 }],
  ['allOf', { allOf: [{ minimum: 1 }, { maximum: 3 }] }, 2, 4],
  ['anyOf', { anyOf: [{ const: 1 }, { const: 2 }] }, 2, 3],
  ['oneOf', { oneOf: [{ minimum: 1 }, { minimum: 3 }] }, 2, 4],
  ['not', { not: { const: 1 } }, 2, 1],
  ['not with a pattern', { type: 'string', not: { pattern: 'a' } }, 'b', 'cab'],
]

/** Keywords that Portico does not check, of JSON Schema 2020-12, its drafts and OpenAPI 3.0, and wrong values. */
const refused: [keyword: string, schema: object][] = [
  ...Object.entries({
    ...{ if: { const: 1 }, else: {}, dependentSchemas: { a: {} }, dependentRequired: { a: ['b'] } },
    ...{ unevaluatedItems: false, unevaluatedProperties: false, $dynamicRef: '#a', $dynamicAnchor: 'a', $anchor: 'a' },
    ...{ $id: 'https://example.com/a', $vocabulary: {}, $schema: 'http://json-schema.org/draft-07/schema#' },
    ...{ contentEncoding: 'base64', contentMediaType: 'application/json', contentSchema: {} },
    ...{ nullable: true, definitions: {}, dependencies: {}, additionalItems: false, maxLenght: 5 },
    ...{ items: [{}], required: true, minLength: '2', maximum: '5', exclusiveMaximum: true, multipleOf: 0 },
    ...{ type: 'text', enum: 'a', properties: [], pattern: 1, allOf: [], readOnly: 'yes', minItems: -1 },
  }).map(([keyword, value]): [string, object] => [keyword, { [keyword]: value }]),
  ['then', JSON.parse('{"then":false}')],
  ['an unknown format', { type: 'string', format: 'swift-code' }],
  ['a format of texts on a number', { type: 'number', format: 'date' }],
  ['a format of numbers on a text', { type: 'string', format: 'int64' }],
]

const places: [place: string, (schema: object) => object, (value: unknown) => unknown][] = [
  ['at the top level', (schema) => schema, (value) => value],
  ['in properties', (schema) => ({ type: 'object', properties: { f: schema } }), (value) => ({ f: value })],
  ['in a nested property', (s) => ({ properties: { f: { properties: { g: s } } } }), (value) => ({ f: { g: value } })],
  [
    'in additionalProperties',
    (schema) => ({ type: 'object', additionalProperties: schema }),
    (value) => ({ f: value }),
  ],
  ['in patternProperties', (schema) => ({ patternProperties: { f: schema } }), (value) => ({ f: value })],
  ['in items', (schema) => ({ type: 'array', items: schema }), (value) => [value]],
  ['in prefixItems', (schema) => ({ type: 'array', prefixItems: [schema] }), (value) => [value]],
  ['in contains', (schema) => ({ type: 'array', contains: schema }), (value) => [value]],
  ['in allOf', (schema) => ({ allOf: [{}, schema] }), (value) => value],
  ['in anyOf', (schema) => ({ anyOf: [{ const: 'no' }, schema] }), (value) => value],
  ['in oneOf', (schema) => ({ oneOf: [{ const: 'no' }, schema] }), (value) => value],
  ['in not', (schema) => ({ not: { not: schema } }), (value) => value],
  ['in a target of $ref', () => ({ $ref: '#/components/schemas/Target' }), (value) => value],
  ['next to $ref', (schema) => ({ $ref: '#/components/schemas/Any', ...schema }), (value) => value],
  [
    'next to $ref in properties',
    (schema) => ({ type: 'object', properties: { f: { $ref: '#/components/schemas/Any', ...schema } } }),
    (value) => ({ f: value }),
  ],
]

describe.each(places)('%s', (_place, wrap, toValue) => {
  const zodOf = (schema: object, io: 'input' | 'output') =>
    toZod(inlineReferences({ components: { schemas: { Any: {}, Target: schema } } }, wrap(schema)), io)

  test.each(checked)('%s is checked', (_keyword, schema, valid, invalid) => {
    for (const io of ['input', 'output'] as const) {
      const zod = zodOf(schema, io)
      if (valid !== undefined) expect(zod.safeParse(toValue(valid)).error).toBeUndefined()
      expect(zod.safeParse(toValue(invalid)).success).toBe(false)
    }
  })

  test.each(refused)('%s is an error', (_keyword, schema) => {
    for (const io of ['input', 'output'] as const) expect(() => zodOf(schema, io)).toThrow(TypeError)
  })
})

test('toZod names the place of a keyword that it does not support', () => {
  const schema = { type: 'object', properties: { list: { type: 'array', items: { if: {} } } } }
  expect(() => toZod(schema, 'input')).toThrow('properties.list.items.if: this keyword is not supported')
})

test('a sibling of $ref narrows its target, and an annotation replaces that of the target', () => {
  const Amount = { type: 'number', minimum: 1, description: 'An amount' }
  const inlined = (more: object) =>
    inlineReferences({ components: { schemas: { Amount } } }, { $ref: '#/components/schemas/Amount', ...more })
  for (const io of ['input', 'output'] as const)
    for (const [value, isValid] of [
      [100, true],
      [1_000_000, false],
      [0, false],
    ])
      expect(toZod(inlined({ maximum: 100 }), io).safeParse(value).success).toBe(isValid)
  expect(inlined({ description: 'A fee' })).toEqual({ ...Amount, description: 'A fee' })
})
