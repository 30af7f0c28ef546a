import { expect, test } from 'vitest'
import { findChain } from '../../src/kernel/index.ts'

test.each([
  ['/web/v1/consumer', 'consumer'],
  ['/web/v1/consumer/wallets', 'consumer'],
  ['/web/v1/consumers', 'shared'],
  ['/web/v1/system/x', 'system'],
  ['/web/v1/users/self/x', 'self'],
  ['/web/v1/users/selfish', 'shared'],
  ['/web/v1/constants', 'shared'],
  ['/api/v1/consumer/x', 'api'],
  ['/api/v1/other', 'consumer'],
  ['/', 'consumer'],
])('findChain(%s): %s', (path, chain) => {
  expect(findChain(path)).toBe(chain)
})
