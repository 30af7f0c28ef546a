import { describe, expect, test } from 'vitest'
import { parseQuery } from '../../../src/gateway/pipeline/query.ts'
import { refusalOf } from '../../domains/world.ts'

/** Asked without an operation's schema behind it, which would refuse most of these for reasons of its own. */
describe('a query', () => {
  test.each<[string, Record<string, string>]>([
    ['', {}],
    ['&a=1&&b=2&', { a: '1', b: '2' }],
    ['a', { a: '' }],
    ['a=b=c', { a: 'b=c' }],
    ['a=1+2%2B3', { a: '1 2+3' }],
    [`${'a'.repeat(64)}=1`, { ['a'.repeat(64)]: '1' }],
  ])('%s is read', (query, parameters) => {
    expect(parseQuery(query)).toEqual(parameters)
  })

  test.each([
    'a=1&a=1',
    'a=1&%61=2',
    '=1',
    `${'a'.repeat(65)}=1`,
    'a%5Bb%5D=1',
    'a.b=1',
    '__proto__=1',
    'constructor=1',
    'toString=1',
    'a=%00',
    'a=%ff',
  ])('400 VALIDATION.INVALID_PARAMETER for %s', async (query) => {
    expect(await refusalOf((async () => parseQuery(query))())).toBe('VALIDATION.INVALID_PARAMETER')
  })
})
