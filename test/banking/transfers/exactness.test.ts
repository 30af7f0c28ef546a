import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTransfer } from '../../../src/banking/transfers/contract.ts'
import { readBalance } from '../../../src/banking/wallets/contract.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { everyStore } from '../../ledger/stores.ts'
import { createTestBank, type TestBank } from '../../ledger/test-bank.ts'
import { refusalOf } from '../world.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

const cases: [currency: string, funds: string, sent: string, left: string][] = [
  ['JPY', '9007199254740993', '1', '9007199254740992'],
  ['USD', '90071992547409.93', '0.01', '90071992547409.92'],
  ['BHD', '1.001', '0.002', '0.999'],
  ['BTC', '20999999.97690000', '0.00000001', '20999999.97689999'],
  ['ETH', '123456789012.000000000000000001', '0.000000000000000001', '123456789012.000000000000000000'],
  ['ETH', '999999999999.999999999999999999', '999999999999.999999999999999999', '0.000000000000000000'],
]

describe.each(stores)('amounts on $name', ({ database }) => {
  let bank: TestBank
  const caller = systemIds.next<'account'>()
  beforeAll(async () => {
    bank = await createTestBank(database)
  })

  test.each(cases)('transfers.create 200: %s %s minus %s leaves exactly %s', async (currency, funds, sent, left) => {
    const a = await bank.wallet(currency, funds)
    const b = await bank.wallet(currency)
    const order = await bank.call(createTransfer, {
      as: caller,
      workspace: a.workspace,
      body: { sourceWalletBizId: a.id, targetWalletBizId: b.id, amount: sent, currency },
    })
    expect(order.amount).toBe(sent)
    const { totalBalance, availableBalance } = await bank.call(readBalance, {
      as: caller,
      workspace: a.workspace,
      params: { wallet_id: a.id },
    })
    expect([totalBalance, availableBalance]).toEqual([left, left])
    expect(await bank.available(b)).toBe(sent)
    expect(await bank.ledger.verifyLedger()).toBeNull()
  })

  test.each(['0', '0.00', '-1', '+1', '1e3', '0x10', '１', 'NaN', '1.001', '01', '.5', '1.', ' 1', '1'.repeat(31)])(
    'transfers.create 400 VALIDATION.INVALID_PARAMETER: amount %j',
    async (amount) => {
      const a = await bank.wallet('USD', '100.00')
      const b = await bank.wallet('USD')
      const body = { sourceWalletBizId: a.id, targetWalletBizId: b.id, amount, currency: 'USD' }
      const result = bank.call(createTransfer, { as: caller, workspace: a.workspace, body })
      expect(await refusalOf(result)).toBe('VALIDATION.INVALID_PARAMETER')
      expect(await bank.available(a)).toBe('100.00')
    },
  )
})
