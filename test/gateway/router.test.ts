import { describe, expect, test } from 'vitest'
import { catalogue } from '../../src/contract/index.ts'
import { createRouter } from '../../src/gateway/router.ts'
import { chains, paramNames } from '../../src/kernel/index.ts'

const route = createRouter(catalogue)

/** Each path that ends in a parameter, up to that parameter. */
const stems = catalogue.flatMap(({ chains: on, method, path }) =>
  path.endsWith('}') ? on.map((chain) => [method, chains[chain].prefix + path.slice(0, path.lastIndexOf('{'))]) : [],
)

describe('the router', () => {
  test.each(stems)('%s %s: no operation is found for a path that ends in a slash', (method = '', stem = '') => {
    const path = stem.replaceAll(/\{\w+\}/g, 'x')
    expect(() => route(method, path)).toThrow('ROUTE.NOT_FOUND')
  })

  test('a parameter is what stands in its place', () => {
    const { operation, params } = route('GET', '/api/v1/consumer/wallets/a%20b')
    expect(paramNames(operation.path)).toEqual(Object.keys(params))
    expect(Object.values(params)).toEqual(['a b'])
  })

  test('a parameter may be as long as a request line', () => {
    const long = 'x'.repeat(10_000)
    expect(Object.values(route('GET', `/api/v1/consumer/wallets/${long}`).params)).toEqual([long])
  })
})
