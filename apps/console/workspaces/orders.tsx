import { Link, useSearchParams } from 'wouter'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { useSession } from '../../kit/session.tsx'
import { Badge, Empty } from '../../kit/states.tsx'
import { Time } from '../../kit/time.tsx'
import { ExportRows } from '../records/export-rows.tsx'
import { Filters } from '../records/filters.tsx'
import { WorkspaceLink } from '../records/links.tsx'
import { type OrderRow, orderKinds } from './order-kinds.ts'

/** The orders of all workspaces, by kind. */
export default function Orders() {
  const [search] = useSearchParams()
  const { permissions } = useSession()
  const kinds = orderKinds.filter(({ permission }) => permissions.has(permission))
  const chosen = kinds.find(({ kind }) => kind === search.get('kind')) ?? kinds[0]
  if (!chosen)
    return (
      <Page title={t('workspaces.orders')}>
        <Empty title={t('workspaces.noOrderKinds')} />
      </Page>
    )
  const query = {
    workspaceId: search.get('workspaceId') ?? undefined,
    walletId: search.get('walletId') ?? undefined,
    orderNo: search.get('orderNo') ?? undefined,
    startTime: search.get('startTime') ?? undefined,
    endTime: search.get('endTime') ?? undefined,
  }
  return (
    <Page title={t('workspaces.orders')}>
      <Filters label={t('workspaces.orderFilters')} filters={filters} />
      <ListQuery
        queryKey={['orders', chosen.kind, query]}
        read={(before) => chosen.read(query, before)}
        empty={t(`workspaces.noOrders_${chosen.kind}`)}
      >
        {(orders) => (
          <>
            <OrderTable orders={orders} />
            <ExportRows name={chosen.kind} header={header} rows={() => orders.map(rowOf)} />
          </>
        )}
      </ListQuery>
    </Page>
  )
}

function OrderTable({ orders }: { orders: readonly OrderRow[] }) {
  const { permissions } = useSession()
  const canRead = permissions.has('ledger:read')
  return (
    <Table
      label={t('workspaces.orders')}
      items={orders}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t('workspaces.orderNo'),
          cell: ({ id, orderNo }) => (canRead ? <Link href={`/postings/${id}`}>{orderNo}</Link> : orderNo),
        },
        { title: t('workspaces.one'), cell: ({ workspaceId }) => <WorkspaceLink id={workspaceId} /> },
        {
          title: t('workspaces.amount'),
          align: 'end',
          cell: ({ amount, currency }) => formatMoney(amount, currency),
        },
        {
          title: t('workspaces.status'),
          cell: ({ status, isFinal }) => <Badge tone={isFinal ? 'neutral' : 'waiting'}>{status}</Badge>,
        },
        { title: t('records.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
      ]}
    />
  )
}

const filters = [
  {
    name: 'kind',
    label: t('workspaces.orderKind'),
    options: orderKinds.map(({ kind }) => ({ value: kind, label: t(`workspaces.orders_${kind}`) })),
    isRequired: true,
  },
  { name: 'orderNo', label: t('workspaces.orderNo') },
  { name: 'workspaceId', label: t('workspaces.workspaceId') },
  { name: 'walletId', label: t('workspaces.walletId') },
  { name: 'startTime', label: t('records.from'), isTime: true },
  { name: 'endTime', label: t('records.to'), isTime: true },
]

const header = ['bizId', 'orderNo', 'workspaceBizId', 'amount', 'currency', 'status', 'createdAt']

function rowOf({ id, orderNo, workspaceId, amount, currency, status, createdAt }: OrderRow) {
  return [id, orderNo, workspaceId, amount, currency, status, createdAt]
}
