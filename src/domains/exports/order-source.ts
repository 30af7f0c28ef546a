import { bizId, formatMoney, type Instant, isCurrency, money, toIso, type WorkspaceId } from '../../kernel/index.ts'
import { expiredAt, type Ledger, type Order } from '../../ledger/index.ts'
import type { DataField, OrderKind } from './order-columns.ts'
import { everyRow, type Row, type Source } from './source.ts'

interface OrderExportRequest {
  workspace: WorkspaceId
  walletId: string | undefined
  status: string | undefined
  /** Required values in the order's data. */
  data: Readonly<Record<string, string>>
  from: Instant | undefined
  to: Instant | undefined
  /** Later steps are ignored. Null: the store's snapshot excludes them already. */
  asOf: Instant | null
  /** Orders that have expired by now count as ended. */
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

const minorIn = (data: Order['data'], name: string): bigint | undefined => {
  const text = data[name] ?? ''
  return /^-?\d+$/.test(text) ? BigInt(text) : undefined
}

const fieldValue = (data: Order['data'], { name, from, currencyIn, less }: DataField): string | null => {
  const source = from === undefined || name in data ? name : from
  if (currencyIn === undefined) return data[source] ?? null
  const [minor, currency = ''] = [minorIn(data, source), data[currencyIn] ?? '']
  if (minor === undefined || !isCurrency(currency)) return null
  const taken = less === undefined || source === name ? 0n : (minorIn(data, less) ?? 0n)
  return formatMoney(money(minor - taken, currency))
}

/** Notes that only the ordering workspace sees, as in transfers.read. */
const ownNotes = new Set(['clientReference'])

/** The status after the last step or a later expiry; undefined without steps. */
const standing = ({ expiry }: OrderKind, { data }: Order, steps: Order['history'], at: Instant) => {
  const last = steps.at(-1)
  const end = last && expiry ? expiredAt({ status: last.status, data }, expiry, at) : null
  return end !== null && expiry ? { status: expiry.to, at: end } : last
}

/** The order as of the snapshot; undefined if it did not exist, had not reached the workspace, or does not match. */
const rowOf = (
  kind: OrderKind,
  order: Order,
  { asOf, now, status, workspace }: OrderExportRequest,
): Row | undefined => {
  const steps = order.history.filter((step) => asOf === null || step.at <= asOf)
  const stood = standing(kind, order, steps, asOf ?? now)
  if (!stood || (status !== undefined && stood.status !== status)) return undefined
  const isOwn = order.workspaceBizId === workspace
  if (!isOwn && stood.status !== 'COMPLETED') return undefined
  const completed = steps.find((step) => step.status === 'COMPLETED')
  const row: Record<string, string | null> = {
    bizId: order.bizId,
    orderNo: order.orderNo,
    [kind.status]: stood.status,
    createdAt: toIso(order.createdAt),
    updatedAt: toIso(stood.at),
    completedAt: completed ? toIso(completed.at) : null,
  }
  if (kind.wallets.source) row[kind.wallets.source] = order.sourceWalletBizId
  if (kind.wallets.target) row[kind.wallets.target] = order.targetWalletBizId
  const isNow = steps.length === order.history.length
  for (const field of kind.data) {
    const isHidden = (field.late && !isNow) || (ownNotes.has(field.name) && !isOwn)
    row[field.name] = isHidden ? null : fieldValue(order.data, field)
  }
  return row
}

/**
 * A workspace's orders of one kind. The status is derived from the history instead of filtered by the store: an order that
 * changes during the export would otherwise leave one page and miss the next.
 */
export const orderSource = (
  ledger: Pick<Ledger, 'readOrders'>,
  kind: OrderKind,
  asked: OrderExportRequest,
  pageSize: number,
): Source => {
  async function* rows(): AsyncGenerator<Row> {
    const { workspace, walletId, data, from: start, to } = asked
    const wallet = walletId === undefined ? undefined : bizId<'wallet'>(walletId)
    const query = { type: kind.type, workspace, wallet, data, to, sortBy: 'createdAt', sortOrder: 'asc' } as const
    const orders = everyRow<Order>((slice) => ledger.readOrders({ ...query, ...slice }), start, pageSize)
    for await (const order of orders) {
      const row = rowOf(kind, order, asked)
      if (row) yield row
    }
  }
  return { columns: columnsOf(kind), rows: rows() }
}
