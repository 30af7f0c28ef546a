import { expect, test } from 'vitest'
import { computeCharge, parseTariff } from '../../src/ledger/tariff.ts'
import { refusalOf } from '../banking/world.ts'

const tariff = parseTariff({
  currency: 'USD',
  minAmount: '0.01',
  maxAmount: '100.00',
  fixedFee: '1.00',
  feeRate: '0.001',
})
async function charge(amount: string) {
  return computeCharge(tariff, amount)
}

test('computeCharge WALLET.LIMIT_EXCEEDED: rounds the fee up and requires a positive net amount', async () => {
  expect(await charge('1.02')).toMatchObject({ fee: { minor: 101n }, net: { minor: 1n } })
  expect(await refusalOf(charge('1.01'))).toBe('WALLET.LIMIT_EXCEEDED')
  expect(await refusalOf(charge('1.00'))).toBe('WALLET.LIMIT_EXCEEDED')
})

test('computeCharge WALLET.LIMIT_EXCEEDED: minimum and maximum are inclusive', async () => {
  const bounded = parseTariff({ currency: 'USD', minAmount: '5.00', maxAmount: '6.00', fixedFee: '0.00', feeRate: '0' })
  const ends = ['4.99', '5.00', '6.00', '6.01'].map((amount) =>
    refusalOf((async () => computeCharge(bounded, amount))()),
  )
  expect(await Promise.all(ends)).toEqual(['WALLET.LIMIT_EXCEEDED', 'none', 'none', 'WALLET.LIMIT_EXCEEDED'])
})
