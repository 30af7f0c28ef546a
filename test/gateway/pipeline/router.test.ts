import { describe, expect, test } from 'vitest'
import { createTransfer } from '../../../src/banking/transfers/contract.ts'
import { catalogue } from '../../../src/contract/index.ts'
import { createRouter } from '../../../src/gateway/pipeline/router.ts'
import { chains, pathParamNames } from '../../../src/kernel/index.ts'
import { refusalOf } from '../../banking/world.ts'

const route = createRouter(catalogue)

/** Omits the last segment of paths that end with a parameter. */
const stems = catalogue.flatMap(({ chains: on, method, path }) =>
  path.endsWith('}') ? on.map((chain) => [method, chains[chain].prefix + path.slice(0, path.lastIndexOf('{'))]) : [],
)

describe('the router', () => {
  test.each(stems)('%s %s: no operation matches a path with a trailing slash', (method = '', stem = '') => {
    const path = stem.replaceAll(/\{\w+\}/g, 'x')
    expect(() => route(method, path)).toThrow('ROUTE.NOT_FOUND')
  })

  test('parameters are extracted', () => {
    const { operation, params } = route('GET', '/api/v1/consumer/wallets/a%20b')
    expect(pathParamNames(operation.path)).toEqual(Object.keys(params))
    expect(Object.values(params)).toEqual(['a b'])
  })

  test('a parameter can be as long as a request line', () => {
    const long = 'x'.repeat(10_000)
    expect(Object.values(route('GET', `/api/v1/consumer/wallets/${long}`).params)).toEqual([long])
  })

  const wallet = (id: string) => `/api/v1/consumer/wallets/${id}`
  const found = (path: string) => refusalOf((async () => route('GET', path))())

  test('only one spelling of a path matches: needless escapes are rejected', () => {
    for (let code = 0; code < 128; code++) {
      const [character, hex] = [String.fromCharCode(code), code.toString(16).padStart(2, '0')]
      for (const escaped of [`%${hex}`, `%${hex.toUpperCase()}`]) {
        const request = () => Object.values(route('GET', wallet(`a${escaped}b`)).params)
        if (/[\w.~-]/.test(character)) expect(request, escaped).toThrow('ROUTE.NOT_FOUND')
        else expect([escaped, request()]).toEqual([escaped, [`a${character}b`]])
      }
    }
  })

  test.each([
    wallet('/a'),
    wallet('.'),
    wallet('..'),
    wallet('../wallets/a'),
    wallet('a\\b'),
    wallet('a#b'),
    wallet('a b'),
    wallet('a\x7f'),
    wallet('\u00e9'),
    '/api/v1/./consumer/wallets/a',
    '/api/v1/consumer/Wallets/a',
    '/API/v1/consumer/wallets/a',
  ])('404 for a path that is not canonical: %j', async (path) => {
    expect(await found(path)).toBe('ROUTE.NOT_FOUND')
  })

  test.each(['.a', '..a', 'a.', '...', 'a~b', '!$&()*+,;=:@'])('a segment can be %s', async (id) => {
    expect(await found(wallet(id))).toBe('none')
  })

  test.each(['%', '%4', '%zz', '%ff', '%C3', '%ED%A0%80'])('400 for an invalid escape: %s', async (escaped) => {
    expect(await found(wallet(`a${escaped}`))).toBe('VALIDATION.INVALID_PARAMETER')
  })
})

test('405: Allow lists only methods of the fixed path, not of a route with a parameter in its place', () => {
  const [fixed, withParameter] = [
    { ...createTransfer, path: '/things/create', method: 'POST' as const },
    { ...createTransfer, path: '/things/{id}', method: 'GET' as const },
  ]
  const route = createRouter([fixed, withParameter])
  const path = `${chains.consumer.prefix}/things/create`
  expect(() => route('DELETE', path)).toThrow(
    expect.objectContaining({ detail: expect.objectContaining({ headers: { allow: 'POST' } }) }),
  )
})
