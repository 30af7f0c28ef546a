import { type OrderExpiry, type OrderQuery, rechargeExpiry } from '../../../ledger/index.ts'

/** A column from an order's data: plain text, or minor units of the currency that another field names. */
export interface DataField {
  name: string
  /** The field that it is taken from, where that has another name. */
  from?: string
  currencyIn?: string
  /** The field that is taken off, where the data does not hold the column itself. */
  less?: string
  /** Written when the order moves on, and so not there while it had not. */
  late?: boolean
}

export interface OrderKind {
  type: OrderQuery['type']
  /** The column of the status, which is also the filter's name. */
  status: string
  /** Whether the order's source or target wallet, or each, has a column, and what it is called there. */
  wallets: { source?: string; target?: string }
  data: readonly DataField[]
  /** How it ends by itself; a job writes that down later. */
  runsOut?: OrderExpiry
}

const amounts: DataField[] = [
  { name: 'amount', currencyIn: 'currency' },
  { name: 'currency' },
  { name: 'feeAmount', currencyIn: 'currency' },
]

/** What arrives: the amount less the fee. */
const netAmount: DataField = { name: 'netAmount', from: 'amount', less: 'feeAmount', currencyIn: 'currency' }

/** The lists of orders that can be exported, under the names that the contract gives them. */
export const orderKinds = {
  TRANSFERS: {
    type: 'TRANSFER',
    status: 'transferStatus',
    wallets: { source: 'sourceWalletBizId', target: 'targetWalletBizId' },
    data: [...amounts, { name: 'remark' }, { name: 'clientReference' }, { name: 'failureCode', late: true }],
  },
  EXCHANGES: {
    type: 'EXCHANGE',
    status: 'exchangeStatus',
    wallets: { source: 'sourceWalletBizId', target: 'targetWalletBizId' },
    data: [
      { name: 'sourceAmount', currencyIn: 'sourceCurrency' },
      { name: 'sourceCurrency' },
      { name: 'targetAmount', currencyIn: 'targetCurrency' },
      { name: 'targetCurrency' },
      { name: 'rate' },
      { name: 'feeAmount', currencyIn: 'sourceCurrency' },
      { name: 'feeCurrency', from: 'sourceCurrency' },
      { name: 'failureCode', late: true },
    ],
  },
  RECHARGES: {
    type: 'RECHARGE',
    status: 'rechargeStatus',
    runsOut: rechargeExpiry,
    wallets: { target: 'walletBizId' },
    data: [
      { name: 'channelCode' },
      ...amounts,
      netAmount,
      { name: 'proofFileBizId', late: true },
      { name: 'cancelReason', late: true },
      { name: 'rejectReason', late: true },
    ],
  },
  WITHDRAWALS: {
    type: 'WITHDRAWAL',
    status: 'withdrawalStatus',
    wallets: { source: 'walletBizId' },
    data: [
      { name: 'withdrawalChannelBizId' },
      ...amounts,
      netAmount,
      { name: 'remark' },
      { name: 'failureReason', late: true },
      { name: 'externalReference', late: true },
    ],
  },
} as const satisfies Record<string, OrderKind>
