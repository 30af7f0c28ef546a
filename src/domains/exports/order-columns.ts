import { type OrderExpiry, type OrderQuery, rechargeExpiry } from '../../ledger/index.ts'

/** A column from an order's data: plain text, or minor units of the currency that another field names. */
export interface DataField {
  name: string
  /** The source field. Default: `name`. */
  from?: string
  currencyIn?: string
  /** The field to subtract if the data lacks the column itself. */
  less?: string
  /** Set by a later step, so empty before it. */
  late?: boolean
}

export interface OrderKind {
  type: OrderQuery['type']
  /** The column of the status, which is also the filter's name. */
  status: string
  /** The column names of the source and the target wallet. */
  wallets: { source?: string; target?: string }
  data: readonly DataField[]
  /** How the order expires. A job stores the expiry later. */
  expiry?: OrderExpiry
}

const amounts: DataField[] = [
  { name: 'amount', currencyIn: 'currency' },
  { name: 'currency' },
  { name: 'feeAmount', currencyIn: 'currency' },
]

/** The amount less the fee. */
const netAmount: DataField = { name: 'netAmount', from: 'amount', less: 'feeAmount', currencyIn: 'currency' }

/** The lists of orders that can be exported, by the names of the contract. */
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
    expiry: rechargeExpiry,
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
