import { expect, test } from 'vitest'
import { catalogueOfPortal, findUnservedOperations } from '../../src/compose/catalogue.ts'
import { bankingCatalogue } from '../../src/contract/index.ts'
import { upstreamAt } from '../harness/settings.ts'

const at = upstreamAt('http://127.0.0.1:9')
const unserved = ['auth.renew', 'profile.erase', 'wallets.close']

test.each<[string, Parameters<typeof findUnservedOperations>[2]['backends'], string[]]>([
  ['without a backend', {}, unserved],
  ['in process', { default: 'in-process', profile: 'in-process' }, unserved],
  ['one domain with an upstream', { default: 'in-process', profile: at }, ['auth.renew', 'wallets.close']],
  [
    'an upstream by default, one domain in process',
    { default: at, wallets: 'in-process' },
    ['auth.renew', 'wallets.close'],
  ],
  ['an upstream by default, except for domains of the gateway itself', { default: at }, ['auth.renew']],
])('findUnservedOperations: %s', (_name, backends, expected) => {
  expect(findUnservedOperations(bankingCatalogue, unserved, { backends })).toEqual(expected)
})

test.each(['CONSUMER', 'SYSTEM'] as const)('catalogueOfPortal: only operations that %s can call', (portal) => {
  const limited = catalogueOfPortal(bankingCatalogue, portal)
  const chainsOf = (operations: typeof limited.operations) => new Set(operations.flatMap(({ chains }) => chains))
  const own = portal === 'CONSUMER' ? ['consumer', 'shared', 'self', 'api'] : ['system', 'shared', 'self', 'systemApi']
  expect(chainsOf(limited.operations)).toEqual(new Set(own))
  expect(limited.permissionTable.operator.length > 0).toBe(portal === 'SYSTEM')
  const ids = new Set(limited.operations.map(({ id }) => id))
  expect([ids.has('operators.listAuditLog'), ids.has('wallets.read')]).toEqual([
    portal === 'SYSTEM',
    portal === 'CONSUMER',
  ])
})
