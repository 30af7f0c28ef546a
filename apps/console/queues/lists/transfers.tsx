import { type AnyTransfer, listAllTransfers, type TransferStatusCode } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../../kit/client.ts'
import { t } from '../../../kit/i18n.ts'
import { ListQuery, Table } from '../../../kit/list.tsx'
import { Page } from '../../../kit/page.tsx'
import { ageColumn, amountColumn, workspaceColumn } from '../parts/columns.tsx'
import { QueueFilters, useQueueFilter } from '../parts/filters.tsx'
import { StatusBadge } from '../parts/records.tsx'

const statuses: readonly TransferStatusCode[] = [
  'PENDING_APPROVAL',
  'PROCESSING',
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'EXPIRED',
]

/** Transfers of all workspaces. Those that need an approval come first. */
export default function Transfers() {
  const filter = useQueueFilter(statuses, ['PENDING_APPROVAL'])
  const { status, ...others } = filter
  return (
    <Page title={t('queues.transfers')}>
      <QueueFilters statuses={statuses} />
      <ListQuery
        queryKey={['transfers', filter]}
        read={(before) => client.call(listAllTransfers, { query: { ...others, transferStatus: status, before } })}
        empty={t('queues.noTransfers')}
      >
        {(transfers) => <TransferTable transfers={transfers} />}
      </ListQuery>
    </Page>
  )
}

function TransferTable({ transfers }: { transfers: readonly AnyTransfer[] }) {
  return (
    <Table
      label={t('queues.transfers')}
      items={transfers}
      keyOf={({ bizId }) => bizId}
      columns={[
        {
          title: t('queues.orderNo'),
          cell: ({ bizId, orderNo }) => <Link href={`/queues/transfers/${bizId}`}>{orderNo}</Link>,
        },
        ageColumn,
        workspaceColumn,
        { title: t('queues.status'), cell: ({ transferStatus }) => <StatusBadge status={transferStatus} /> },
        amountColumn,
      ]}
    />
  )
}
