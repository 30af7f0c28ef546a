import fc from 'fast-check'
import { expect, it } from 'vitest'
import { canonicalReference } from '../../../src/platform/identifiers/index.ts'

it.each([
  'RF18 5390 0754 7034',
  'rf18539007547034',
  'RF18\u00a05390\u00a00754\u00a07034',
  'RF18\u202f5390\u20090754\u30007034',
  'ＲＦ１８５３９００７５４７０３４',
  '\ufeffRF18-5390/0754.7034\u200b',
  'RF\u00ad18\u200d5390\u20660754\u20697034',
])('canonicalReference: %j is RF18539007547034', (text) => {
  expect(canonicalReference(text)).toBe('RF18539007547034')
})

it('canonicalReference: keeps letters and digits of every script', () => {
  expect(canonicalReference('付款 № 12／é')).toBe('付款NO12É')
})

it('canonicalReference: is empty for a text without letters or digits', () => {
  expect(canonicalReference(' -\u200b/ ')).toBe('')
})

it('canonicalReference: is idempotent', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(canonicalReference(canonicalReference(text))).toBe(canonicalReference(text))
    }),
  )
})
