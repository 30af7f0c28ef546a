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
  ['what has a third form', { anyOf: [text, none, { type: 'number' }] }],
  ['a list of values, among which null would have to be', { anyOf: [{ ...text, enum: ['a'] }, none] }],
  ['one value', { anyOf: [{ ...text, const: 'a' }, none] }],
  ['two values', { anyOf: [text, { type: 'number' }] }],
  ['a map of anything', { anyOf: [{ type: 'object', additionalProperties: {} }, none] }],
])('%s is unchanged', (_what, schema) => {
  expect(foldNullable(schema)).toBeUndefined()
})
