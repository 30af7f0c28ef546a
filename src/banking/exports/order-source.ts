import { bizId, formatMoney, type Instant, isCurrency, money, toIso, type WorkspaceId } from '../../kernel/index.ts'
import {
  expiredAt,
  type Ledger,
  type Order,
  type OrderExpiry,
  type OrderQuery,
  rechargeExpiry,
} from '../../ledger/index.ts'
import { type ColumnKind, type Row, readAllRows, type Source } from './source.ts'

/** A column from an order's data: text, or an amount in minor units whose currency is in another field. */
export interface DataField {
  name: string
  /** The field in the data. Default: `name`. */
  from?: string
  currencyIn?: string
  /** The field to subtract from `from` if the data has no field `name`. */
  minus?: string
  /** Default: a field with `currencyIn` is a decimal. */
  kind?: ColumnKind
  /** Whether a later step sets the field. The column is empty if the snapshot is older than that step. */
  isSetLater?: boolean
}

export interface OrderKind {
  type: OrderQuery['type']
  /** Name of both the status column and its filter. */
  status: string
  /** Column names of the wallets. */
  wallets: { source?: string; target?: string }
  data: readonly DataField[]
  /** The export applies the expiry, because a job updates the stored status only later. */
  expiry?: OrderExpiry
}

const amounts: DataField[] = [
  { name: 'amount', currencyIn: 'currency' },
  { name: 'currency' },
  { name: 'feeAmount', currencyIn: 'currency' },
]

const netAmount: DataField = { name: 'netAmount', from: 'amount', minus: 'feeAmount', currencyIn: 'currency' }

export const orderKinds = {
  TRANSFERS: {
    type: 'TRANSFER',
    status: 'transferStatus',
    wallets: { source: 'sourceWalletBizId', target: 'targetWalletBizId' },
    data: [...amounts, { name: 'remark' }, { name: 'clientReference' }, { name: 'failureCode', isSetLater: true }],
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
      { name: 'rate', kind: 'decimal' },
      { name: 'feeAmount', currencyIn: 'sourceCurrency' },
      { name: 'feeCurrency', from: 'sourceCurrency' },
      { name: 'failureCode', isSetLater: true },
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
      { name: 'proofFileBizId', isSetLater: true },
      { name: 'externalReference', isSetLater: true },
      { name: 'cancelReason', isSetLater: true },
      { name: 'rejectReason', isSetLater: true },
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
      { name: 'failureReason', isSetLater: true },
      { name: 'externalReference', isSetLater: true },
    ],
  },
} as const satisfies Record<string, OrderKind>

interface OrderExportRequest {
  workspace: WorkspaceId
  walletId: string | undefined
  status: string | undefined
  /** Required values in the order's data. */
  data: Readonly<Record<string, string>>
  from: Instant | undefined
  to: Instant | undefined
  /** Later steps are ignored. Null if the database snapshot already excludes them. */
  asOf: Instant | null
  /** Orders that expire before this instant count as expired. */
  now: Instant
}

const columnsOf = ({ status, wallets, data }: OrderKind): string[] => [
  'bizId',
  'orderNo',
  status,
  ...Object.values(wallets),
  ...data.map((field) => field.name),
  'createdAt',
  'updatedAt',
  'completedAt',
]

const kindsOf = ({ data }: OrderKind): Record<string, ColumnKind> => ({
  ...Object.fromEntries(
    data.flatMap(({ name, currencyIn, kind = currencyIn === undefined ? undefined : 'decimal' }) =>
      kind === undefined ? [] : [[name, kind] as const],
    ),
  ),
  createdAt: 'instant',
  updatedAt: 'instant',
  completedAt: 'instant',
})

const parseMinor = (data: Order['data'], name: string): bigint | undefined => {
  const text = data[name] ?? ''
  return /^-?\d+$/.test(text) ? BigInt(text) : undefined
}

const fieldValue = (data: Order['data'], { name, from, currencyIn, minus }: DataField): string | null => {
  const source = from === undefined || name in data ? name : from
  if (currencyIn === undefined) return data[source] ?? null
  const [minor, currency = ''] = [parseMinor(data, source), data[currencyIn] ?? '']
  if (minor === undefined || !isCurrency(currency)) return null
  const subtrahend = minus === undefined || source === name ? 0n : (parseMinor(data, minus) ?? 0n)
  return formatMoney(money(minor - subtrahend, currency))
}

/** Only the workspace that created the order can read these fields, as in the operation transfers.read. */
const privateFields = new Set(['clientReference'])

const findState = ({ expiry }: OrderKind, { data }: Order, steps: Order['history'], at: Instant) => {
  const last = steps.at(-1)
  const end = last && expiry ? expiredAt({ status: last.status, data }, expiry, at) : null
  return end !== null && expiry ? { status: expiry.to, at: end } : last
}

/**
 * Returns undefined if the order did not exist at the snapshot, was not visible to the workspace, or does not match.
 */
const toOrderRow = (
  kind: OrderKind,
  order: Order,
  { asOf, now, status, workspace }: OrderExportRequest,
): Row | undefined => {
  const steps = order.history.filter((step) => asOf === null || step.at <= asOf)
  const state = findState(kind, order, steps, asOf ?? now)
  if (!state || (status !== undefined && state.status !== status)) return undefined
  const isOwn = order.workspaceBizId === workspace
  if (!isOwn && state.status !== 'COMPLETED') return undefined
  const completed = steps.find((step) => step.status === 'COMPLETED')
  const row: Record<string, string | null> = {
    bizId: order.bizId,
    orderNo: order.orderNo,
    [kind.status]: state.status,
    createdAt: toIso(order.createdAt),
    updatedAt: toIso(state.at),
    completedAt: completed ? toIso(completed.at) : null,
  }
  if (kind.wallets.source) row[kind.wallets.source] = order.sourceWalletBizId
  if (kind.wallets.target) row[kind.wallets.target] = order.targetWalletBizId
  const isNow = steps.length === order.history.length
  for (const field of kind.data) {
    const isHidden = (field.isSetLater && !isNow) || (privateFields.has(field.name) && !isOwn)
    row[field.name] = isHidden ? null : fieldValue(order.data, field)
  }
  return row
}

/**
 * The status filter uses the history, not the stored status. Otherwise an order that changes during the export could be
 * missing from all pages.
 */
export const createOrderSource = (
  ledger: Pick<Ledger, 'readOrders'>,
  kind: OrderKind,
  request: OrderExportRequest,
  pageSize: number,
): Source => {
  async function* rows(): AsyncGenerator<Row> {
    const { workspace, walletId, data, from: start, to } = request
    const wallet = walletId === undefined ? undefined : bizId<'wallet'>(walletId)
    const query = { type: kind.type, workspace, wallet, data, to, sortBy: 'createdAt', sortOrder: 'asc' } as const
    const orders = readAllRows<Order>((slice) => ledger.readOrders({ ...query, ...slice }), start, pageSize)
    for await (const order of orders) {
      const row = toOrderRow(kind, order, request)
      if (row) yield row
    }
  }
  return { columns: columnsOf(kind), kinds: kindsOf(kind), rows: rows() }
}
