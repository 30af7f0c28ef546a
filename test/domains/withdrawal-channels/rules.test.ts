import { expect, test } from 'vitest'
import { maskAccount } from '../../../src/domains/withdrawal-channels/rules.ts'

test.each([
  ['DE89370400440532013000', '****3000'],
  ['123456789', '****789'],
  ['12345', '****5'],
  ['12', '****'],
])(
  'withdrawalChannels.create: of the account %s no more than a third is shown, and never more than four places',
  (account, shown) => {
    expect(maskAccount(account)).toBe(shown)
  },
)
