import { expect, test } from 'vitest'
import { maskAccount } from '../../../src/banking/withdrawal-channels/rules.ts'

test.each([
  ['DE89370400440532013000', '****3000'],
  ['123456789', '****789'],
  ['12345', '****5'],
  ['12', '****'],
])('maskAccount: shows at most a third and at most four characters of %s', (account, masked) => {
  expect(maskAccount(account)).toBe(masked)
})
