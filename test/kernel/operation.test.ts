import { expect, test } from 'vitest'
import { createChainFinder } from '../../src/kernel/index.ts'

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
])('the chain of %s is %s', (path, chain) => {
  expect(createChainFinder([])(path).chainId).toBe(chain)
})

test.each([
  ['/web/v1/merchant/wallets', 'consumer', 'MERCHANT'],
  ['/api/v1/merchant/wallets', 'api', 'MERCHANT'],
  ['/web/v1/consumer/wallets', 'consumer', 'CONSUMER'],
  ['/web/v1/merchants/wallets', 'shared', 'code'],
  ['/api/v1/consumer/wallets', 'api', 'CONSUMER'],
])('with the portal MERCHANT, the chain of %s is %s of %s', (path, chainId, portal) => {
  const found = createChainFinder([{ portal: 'MERCHANT', prefix: 'merchant' }])(path)
  expect([found.chainId, found.chain.portal]).toEqual([chainId, portal])
})
