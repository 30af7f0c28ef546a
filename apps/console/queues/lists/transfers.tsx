import { type AnyTransfer, listAllTransfers, type TransferStatusCode } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../../kit/client.ts'
import { formatMoney } from '../../../kit/format.ts'
import { t } from '../../../kit/i18n.ts'
import { ListQuery, Table } from '../../../kit/list.tsx'
import { Page } from '../../../kit/page.tsx'
import { Age } from '../../../kit/time.tsx'
import { Filters, useQueueFilter } from '../parts/filters.tsx'
import { WorkspaceLink } from '../parts/people.tsx'
import { StatusBadge, WorkspaceMarks } from '../parts/records.tsx'

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
      <Filters statuses={statuses} filter={filter} />
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
        { title: t('queues.age'), cell: ({ createdAt }) => <Age at={createdAt} /> },
        {
          title: t('queues.workspace'),
          cell: ({ workspaceBizId, workspaceKind, workspaceStatus }) => (
            <span>
              <WorkspaceLink id={workspaceBizId} />
              <WorkspaceMarks kind={workspaceKind} status={workspaceStatus} />
            </span>
          ),
        },
        { title: t('queues.status'), cell: ({ transferStatus }) => <StatusBadge status={transferStatus} /> },
        { title: t('queues.amount'), align: 'end', cell: ({ amount, currency }) => formatMoney(amount, currency) },
      ]}
    />
  )
}
