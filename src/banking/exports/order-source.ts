import { expiryOf, fieldsSetLater, type LifeCycle, type OrderColumn } from '../../contract/ledger/life-cycle.ts'
import { bizId, formatMoney, type Instant, isCurrency, money, toIso, type WorkspaceId } from '../../kernel/index.ts'
import { expiredAt, type Ledger, type Order, type OrderQuery } from '../../ledger/index.ts'
import { type ColumnKind, type Row, readAllRows, type Source } from './source.ts'

export type ExportedType = LifeCycle & { readonly name: OrderQuery['type'] }

interface OrderExportRequest {
  workspace: WorkspaceId
  walletId: string | undefined
  status: string | undefined
  references?: Pick<OrderQuery, 'orderNo' | 'clientReference' | 'externalReference'>
  /** Required values in the order's data. */
  data: Readonly<Record<string, string>>
  from: Instant | undefined
  to: Instant | undefined
  /** Later steps are ignored. Null if the database snapshot already excludes them. */
  asOf: Instant | null
  /** Orders that expire before this instant count as expired. */
  now: Instant
}

/**
 * The status filter uses the history, not the stored status. Otherwise an order that changes during the export could be
 * missing from all pages.
 */
export function createOrderSource(
  ledger: Pick<Ledger, 'readOrders'>,
  type: ExportedType,
  request: OrderExportRequest,
  pageSize: number,
): Source {
  async function* rows(): AsyncGenerator<Row> {
    const { workspace, walletId, references, data, from: start, to } = request
    const wallet = walletId === undefined ? undefined : bizId<'wallet'>(walletId)
    const filters = { ...references, type: type.name, workspace, wallet, data, to }
    const query = { ...filters, sortBy: 'createdAt', sortOrder: 'asc' } as const
    const setLater = fieldsSetLater(type)
    const orders = readAllRows<Order>((slice) => ledger.readOrders({ ...query, ...slice }), start, pageSize)
    for await (const order of orders) {
      const row = toOrderRow(type, order, setLater, request)
      if (row) yield row
    }
  }
  return { columns: columnsOf(type), kinds: kindsOf(type), rows: rows() }
}

/**
 * Returns undefined if the order did not exist at the snapshot, was not visible to the workspace, or does not match.
 */
function toOrderRow(
  type: LifeCycle,
  order: Order,
  setLater: ReadonlySet<string>,
  { asOf, now, status, workspace }: OrderExportRequest,
): Row | undefined {
  const steps = order.history.filter((step) => asOf === null || step.at <= asOf)
  const state = findState(type, order, steps, asOf ?? now)
  if (!state || (status !== undefined && state.status !== status)) return undefined
  const isOwn = order.workspaceBizId === workspace
  if (!isOwn && state.status !== 'COMPLETED') return undefined
  const completed = steps.find((step) => step.status === 'COMPLETED')
  const row: Record<string, string | null> = {
    bizId: order.bizId,
    orderNo: order.orderNo,
    [type.statuses.name]: state.status,
    createdAt: toIso(order.createdAt),
    updatedAt: toIso(state.at),
    completedAt: completed ? toIso(completed.at) : null,
  }
  if (type.wallets.source) row[type.wallets.source] = order.sourceWalletBizId
  if (type.wallets.target) row[type.wallets.target] = order.targetWalletBizId
  const isNow = steps.length === order.history.length
  for (const column of type.columns) {
    // The snapshot may be older than the move that set the field.
    const isHidden = (setLater.has(column.name) && !isNow) || (column.isPrivate && !isOwn)
    row[column.name] = isHidden ? null : fieldValue(order.data, isNow ? corrected(column, order.data) : column)
  }
  return row
}

/** The export applies the expiry, because a job updates the stored status only later. */
function findState(type: LifeCycle, { data }: Order, steps: Order['history'], at: Instant) {
  const last = steps.at(-1)
  const expiry = expiryOf(type)
  const end = last && expiry ? expiredAt({ status: last.status, data }, expiry, at) : null
  return end !== null && expiry ? { status: expiry.to, at: end } : last
}

function corrected(column: OrderColumn, data: Order['data']): OrderColumn {
  const name = column.correctedBy
  return name !== undefined && data[name] ? { ...column, name } : column
}

function fieldValue(data: Order['data'], { name, from, currencyIn, minus }: OrderColumn): string | null {
  const source = from === undefined || name in data ? name : from
  if (currencyIn === undefined) return data[source] ?? null
  const [minor, currency = ''] = [parseMinor(data, source), data[currencyIn] ?? '']
  if (minor === undefined || !isCurrency(currency)) return null
  const subtrahend = minus === undefined || source === name ? 0n : (parseMinor(data, minus) ?? 0n)
  return formatMoney(money(minor - subtrahend, currency))
}

function parseMinor(data: Order['data'], name: string): bigint | undefined {
  const text = data[name] ?? ''
  return /^-?\d+$/.test(text) ? BigInt(text) : undefined
}

function columnsOf({ statuses, wallets, columns }: LifeCycle): string[] {
  return [
    'bizId',
    'orderNo',
    statuses.name,
    ...Object.values(wallets),
    ...columns.map(({ name }) => name),
    'createdAt',
    'updatedAt',
    'completedAt',
  ]
}

function kindsOf({ columns }: LifeCycle): Record<string, ColumnKind> {
  return {
    ...Object.fromEntries(
      columns
        .filter(({ currencyIn, kind }) => currencyIn !== undefined || kind !== undefined)
        .map(({ name }) => [name, 'decimal'] as const),
    ),
    createdAt: 'instant',
    updatedAt: 'instant',
    completedAt: 'instant',
  }
}
