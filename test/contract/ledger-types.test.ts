import { expect, test } from 'vitest'
import * as transfers from '../../src/banking/transfers/contract.ts'
import { catalogueWith } from '../../src/contract/index.ts'
import { collectLedgerTypes } from '../../src/contract/ledger/ledger-types.ts'
import * as ledger from '../../src/ledger/contract.ts'

const loans = {
  ledgerTypes: {
    orders: { LOAN: { prefix: 'LON', open: ['PAID_OUT'], final: ['REPAID', 'CANCELLED'] } },
    flowTypes: { LOAN_PAYOUT: 20000201 },
    houseAccounts: ['LOANS'],
  },
}

test('ledger types: the table has those of the ledger and of every domain, with their owner', () => {
  const { orders, flowTypes, houseAccounts } = collectLedgerTypes({ ledger, transfers, loans })
  expect([...orders.keys()]).toEqual(['TRANSFER', 'LOAN'])
  const final = ['COMPLETED', 'FAILED', 'CANCELLED', 'EXPIRED']
  expect(orders.get('TRANSFER')).toMatchObject({ owner: 'transfers', prefix: 'TRF', final })
  expect(orders.get('LOAN')).toEqual({ owner: 'loans', ...loans.ledgerTypes.orders.LOAN })
  expect(flowTypes.get('LOAN_PAYOUT')).toEqual({ owner: 'loans', value: 20000201 })
  expect(houseAccounts.get('LOANS')).toEqual({ owner: 'loans' })
})

test('ledger types: the family flowType of the catalogue has the flow types of all domains', () => {
  const { codedFamilies, ledgerTypes } = catalogueWith({ loans })
  expect(codedFamilies.get('flowType')?.values).toEqual({
    ...{ TRANSFER: 10090301, EXCHANGE: 10090302, RECHARGE: 10090303, WITHDRAWAL: 10090304 },
    ...ledger.flowType.values,
    LOAN_PAYOUT: 20000201,
  })
  expect(codedFamilies.get('flowType')?.codes).toEqual(['FEE', 'OPENING', 'LOAN_PAYOUT'])
  expect(ledgerTypes.orders.has('LOAN')).toBe(true)
})

test.each([
  [
    'order type',
    { orders: { TRANSFER: { prefix: 'XYZ', open: [], final: ['DONE'] } } },
    'ledger.orders.TRANSFER: order type TRANSFER',
    'transfers',
  ],
  [
    'prefix',
    { orders: { LOAN: { prefix: 'TRF', open: [], final: ['DONE'] } } },
    'ledger.orders.LOAN.prefix: prefix of order numbers TRF',
    'transfers',
  ],
  ['flow type', { flowTypes: { FEE: 20000201 } }, 'ledger.flowTypes.FEE: flow type FEE'],
  ['number', { flowTypes: { LOAN_FEE: 10090305 } }, 'ledger.flowTypes.LOAN_FEE: number of flow types 10090305'],
  ['house account', { houseAccounts: ['CLEARING'] }, 'ledger.houseAccounts: house account CLEARING'],
])(
  'ledger types: a %s that two owners declare is an error that names both',
  (_name, ledgerTypes, declared, owner = 'ledger') => {
    expect(() => collectLedgerTypes({ ledger, transfers, cards: { ledgerTypes } })).toThrow(
      `${declared} is declared by ${owner} and by cards`,
    )
  },
)

test('ledger types: the name of an order type differs from its key in `orders`', () => {
  expect(() => collectLedgerTypes({ cards: { ledgerTypes: { orders: { CARD: transfers.transfers } } } })).toThrow(
    'ledger.orders.CARD: is the order type TRANSFER',
  )
})
