import { expect, it } from 'vitest'
import type { JsonObject } from '../../src/openapi/json.ts'
import { foldNullable } from '../../src/openapi/schemas.ts'

const none = { type: 'null' }
const text = { type: 'string' }

it('a nullable value is one schema with two types, including its members', () => {
  const inner = { anyOf: [text, none], description: 'of it' }
  const record = { type: 'object', properties: { inner } }
  expect(foldNullable({ anyOf: [record, none], title: 'T' })).toEqual({
    title: 'T',
    type: ['object', 'null'],
    properties: { inner: { type: ['string', 'null'], description: 'of it' } },
  })
})

it.each<[string, JsonObject]>([
  ['a union of three', { anyOf: [text, none, { type: 'number' }] }],
  ['an enum, which would need null', { anyOf: [{ ...text, enum: ['a'] }, none] }],
  ['a constant', { anyOf: [{ ...text, const: 'a' }, none] }],
  ['a union of two constants', { anyOf: [text, { type: 'number' }] }],
  ['a map of anything', { anyOf: [{ type: 'object', additionalProperties: {} }, none] }],
])('%s is unchanged', (_what, schema) => {
  expect(foldNullable(schema)).toBeUndefined()
})
