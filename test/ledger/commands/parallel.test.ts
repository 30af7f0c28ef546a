import { afterAll, describe, expect, test } from 'vitest'
import { createTransfer, listTransfers } from '../../../src/banking/transfers/contract.ts'
import { systemIds } from '../../../src/platform/runtime/index.ts'
import { refusalOf } from '../../banking/world.ts'
import { everyStore } from '../stores.ts'
import { createTestBank, type TestWallet } from '../test-bank.ts'

const stores = await everyStore()
afterAll(() => Promise.all(stores.map((store) => store.close())))

describe.each(stores)('concurrent transfers on $name', ({ database }) => {
  const caller = systemIds.next<'account'>()

  const openBank = async (options = {}) => {
    const bank = await createTestBank(database, options)
    const send = (from: TestWallet, to: TestWallet, amount: string) =>
      refusalOf(
        bank.call(createTransfer, {
          as: caller,
          workspace: from.workspace,
          body: { sourceWalletBizId: from.id, targetWalletBizId: to.id, amount, currency: from.currency },
        }),
      )
    return { bank, send }
  }

  test('200 transfers between two wallets in both directions: no error, and the sum is unchanged', async () => {
    const { bank, send } = await openBank({ fixedFee: { USD: '0.01' } })
    const a = await bank.wallet('USD', '1000.00')
    const b = await bank.wallet('USD', '1000.00')
    const codes = await Promise.all(
      Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? send(a, b, '3.00') : send(b, a, '2.00'))),
    )
    expect(new Set(codes)).toEqual(new Set(['none']))
    expect([await bank.available(a), await bank.available(b)]).toEqual(['899.00', '1099.00'])
    expect(await bank.ledger.verifyLedger()).toBeNull()
  })

  test('more transfers than funds: as many succeed as the balance allows', async () => {
    const { bank, send } = await openBank()
    const a = await bank.wallet('USD', '10.00')
    const b = await bank.wallet('USD')
    const codes = await Promise.all(Array.from({ length: 40 }, () => send(a, b, '1.00')))
    expect(codes.filter((code) => code === 'none')).toHaveLength(10)
    expect(codes.filter((code) => code === 'WALLET.INSUFFICIENT_FUNDS')).toHaveLength(30)
    expect([await bank.available(a), await bank.available(b)]).toEqual(['0.00', '10.00'])
  })

  test('transfers around a ring in both directions: no deadlock', async () => {
    const { bank, send } = await openBank()
    const ring = await Promise.all(Array.from({ length: 5 }, () => bank.wallet('EUR', '100.00')))
    const pick = (i: number): TestWallet => {
      const wallet = ring.at(i % ring.length)
      if (!wallet) throw new Error('empty ring')
      return wallet
    }
    const codes = await Promise.all(Array.from({ length: 200 }, (_, i) => send(pick(i), pick(i + 1 + (i % 4)), '0.01')))
    expect(new Set(codes)).toEqual(new Set(['none']))
    expect(await bank.ledger.verifyLedger()).toBeNull()
  })

  test('transfers.list 200: page and total are consistent during concurrent transfers', async () => {
    const { bank, send } = await openBank()
    const a = await bank.wallet('USD', '1000.00')
    const b = await bank.wallet('USD', '1000.00')
    let sent = 0
    const sender = async () => {
      for (; sent < 90; sent++) await send(a, b, '0.01')
    }
    const reader = async (currentPage: string) => {
      while (sent < 90) {
        const query = { pageSize: '30', currentPage }
        const { items, pagination } = await bank.call(listTransfers, { as: caller, workspace: a.workspace, query })
        const before = (Number(currentPage) - 1) * 30
        expect([items.length, pagination.totalRecords, pagination.hasNext]).toSatisfy(
          ([rows, total, more]: [number, number, boolean]) =>
            more ? rows === 30 && total > before + rows : rows === Math.max(0, total - before),
        )
      }
    }
    await Promise.all([sender(), sender(), sender(), ...['1', '2', '3'].map(reader)])
  })
})
