import { expect, test } from 'vitest'
import { createWithdrawalChannel } from '../../../src/banking/withdrawal-channels/contract.ts'
import { payoutAccount } from '../../harness/payout-account.ts'

test('withdrawalChannels.create: a pasted account has no invisible characters and no width', () => {
  const accountNumber = '\u2066DE89\u00a03704 0044\u202e 0532 ０１３０\u200b 00'
  const pasted = payoutAccount({ accountNumber, bankCode: '\u200fＣＯＢＡ DE FF' })
  expect(createWithdrawalChannel.body.parse(pasted)).toEqual({
    ...pasted,
    bankCode: 'COBA DE FF',
    accountNumber: 'DE89 3704 0044 0532 0130 00',
  })
})

test.each([
  [{ bankCode: undefined }, 'bankCode', 'missing'],
  [{ network: 'BTC' }, 'network', undefined],
  [{ channelType: 'CRYPTO', bankCode: undefined }, 'network', 'missing'],
  [{ channelType: 'CRYPTO', network: 'BTC' }, 'bankCode', undefined],
])('withdrawalChannels.create 400: %j names %s as %s', (changed, field, reason) => {
  const { error } = createWithdrawalChannel.body.safeParse(payoutAccount(changed))
  expect(error?.issues).toMatchObject([{ path: [field], ...(reason && { params: { reason } }) }])
})
