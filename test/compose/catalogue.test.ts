import { expect, test } from 'vitest'
import { findUnservedOperations } from '../../src/compose/catalogue.ts'
import { upstreamAt } from '../harness/settings.ts'

const at = upstreamAt('http://127.0.0.1:9')
const unserved = ['auth.renew', 'profile.erase', 'wallets.close']

test.each<[string, Parameters<typeof findUnservedOperations>[1]['backends'], string[]]>([
  ['that is placed nowhere', {}, unserved],
  ['that is placed here', { default: 'in-process', profile: 'in-process' }, unserved],
  ['of which one has an upstream', { default: 'in-process', profile: at }, ['auth.renew', 'wallets.close']],
  [
    'that has an upstream by default, but for one',
    { default: at, wallets: 'in-process' },
    ['auth.renew', 'wallets.close'],
  ],
  ['that has an upstream by default, but for what is the gateway’s own', { default: at }, ['auth.renew']],
])('501 of what has no handler is foretold of a domain %s', (_where, backends, nowhere) => {
  expect(findUnservedOperations(unserved, { backends })).toEqual(nowhere)
})
