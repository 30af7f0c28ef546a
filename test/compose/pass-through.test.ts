import { describe, expect, test } from 'vitest'
import { passThroughOf } from '../../src/compose/pass-through.ts'
import { passThroughSettings } from '../../src/config/backends.ts'
import { ConfigurationError } from '../../src/config/index.ts'
import { bankingCatalogue } from '../../src/contract/index.ts'
import { testSettings } from '../harness/settings.ts'

const policy = {
  caller: 'account',
  workspace: 'required',
  permission: null,
  stepUp: false,
  rate: 'general',
} as const
const url = 'http://127.0.0.1:9000'
const { portals } = testSettings({})
const legacy = { prefix: '/web/v1/consumer/legacy', url, policy }

function errorsOf(prefixes: object[]): readonly string[] {
  try {
    passThroughOf({ passThrough: passThroughSettings.parse(prefixes), publicUrl: url, portals }, bankingCatalogue)
    return []
  } catch (error) {
    if (error instanceof ConfigurationError) return error.errors
    throw error
  }
}
function issuesOf(prefix: object): string[] {
  return (passThroughSettings.safeParse([prefix]).error?.issues ?? []).map(({ path }) => path.slice(1).join('.'))
}

describe('the pass-through prefixes of the configuration', () => {
  test('each has one operation, named after the prefix without its chain', () => {
    const other = { ...legacy, prefix: '/web/v1/system/legacy-reports/v2', policy: { ...policy, workspace: 'none' } }
    const named = { ...legacy, prefix: '/api/v1/consumer/legacy', name: 'machines', methods: ['GET', 'POST'] }
    const passThrough = passThroughSettings.parse([legacy, other, named])
    const found = passThroughOf({ passThrough, publicUrl: url, portals }, bankingCatalogue)
    expect(found.map(({ route }) => [route.operation.id, route.chainId, [...route.methods]])).toEqual([
      ['passThrough.legacy', 'consumer', ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']],
      ['passThrough.legacyReportsV2', 'system', ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']],
      ['passThrough.machines', 'api', ['GET', 'HEAD', 'POST']],
    ])
  })

  test.each<[string, object[], string]>([
    ['no chain', [{ ...legacy, prefix: '/legacy' }], 'passThrough.0.prefix: must be below a chain'],
    ['a chain itself', [{ ...legacy, prefix: '/web/v1/consumer' }], 'passThrough.0.prefix: must be below a chain'],
    ['a chain below it', [{ ...legacy, prefix: '/web/v1/users' }], 'passThrough.0.prefix: contains the chain'],
    [
      'the path of an operation',
      [{ ...legacy, prefix: '/web/v1/consumer/wallets' }],
      'passThrough.0.prefix: contains GET /web/v1/consumer/wallets (wallets.list)',
    ],
    [
      'a path with a parameter',
      [{ ...legacy, prefix: '/web/v1/consumer/wallets/x/balance' }],
      'passThrough.0.prefix: contains GET /web/v1/consumer/wallets/',
    ],
    [
      'another prefix',
      [legacy, { ...legacy, name: 'inner', prefix: '/web/v1/consumer/legacy/inner' }],
      'passThrough.1.prefix: is below /web/v1/consumer/legacy',
    ],
    [
      'the name of another prefix',
      [legacy, { ...legacy, prefix: '/web/v1/system/legacy' }],
      'passThrough.1.name: passThrough.legacy is used twice',
    ],
    [
      'an unknown permission',
      [{ ...legacy, policy: { ...policy, permission: 'legacy:read' } }],
      'passThrough.0.policy.permission: legacy:read is not declared',
    ],
    [
      'a permission of operators in a workspace',
      [{ ...legacy, policy: { ...policy, permission: 'account:read' } }],
      'passThrough.0.policy.permission: account:read is not declared',
    ],
  ])('the start refuses %s', (_name, prefixes, error) => {
    expect(errorsOf(prefixes)[0]).toContain(error)
  })

  test.each<[string, object, string]>([
    ['a trailing slash', { prefix: '/web/v1/consumer/legacy/' }, 'prefix'],
    ['a dot segment', { prefix: '/web/v1/consumer/../legacy' }, 'prefix'],
    ['an escape', { prefix: '/web/v1/consumer/%6cegacy' }, 'prefix'],
    ['no policy', { policy: undefined }, 'policy'],
    ['a policy without a rate', { policy: { ...policy, rate: undefined } }, 'policy.rate'],
    ['a workspace without a caller', { policy: { ...policy, caller: 'anonymous' } }, 'policy'],
    ['idempotent requests', { policy: { ...policy, idempotent: true } }, 'policy'],
    ['the secure channel', { policy: { ...policy, channel: 'optional' } }, 'policy'],
    ['CONNECT', { methods: ['CONNECT'] }, 'methods.0'],
    ['the token of the user', { requestHeaders: ['authorization'] }, 'requestHeaders.0'],
    ['cookies', { requestHeaders: ['cookie'] }, 'requestHeaders.0'],
    ['cookies of the service', { responseHeaders: ['set-cookie'] }, 'responseHeaders.0'],
    ['CORS headers', { responseHeaders: ['access-control-allow-origin'] }, 'responseHeaders.0'],
    ['hop-by-hop headers', { responseHeaders: ['connection'] }, 'responseHeaders.0'],
    ['framing headers', { requestHeaders: ['content-length'] }, 'requestHeaders.0'],
  ])('the schema refuses %s', (_name, change, path) => {
    expect(issuesOf({ ...legacy, ...change })).toContain(path)
  })
})
