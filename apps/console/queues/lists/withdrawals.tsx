import { type AnyWithdrawal, listAllWithdrawals, type WithdrawalStatusCode } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../../kit/client.ts'
import { t } from '../../../kit/i18n.ts'
import { ListQuery, Table } from '../../../kit/list.tsx'
import { Page } from '../../../kit/page.tsx'
import { ageColumn, amountColumn, workspaceColumn } from '../parts/columns.tsx'
import { QueueFilters, useQueueFilter } from '../parts/filters.tsx'
import { StatusBadge } from '../parts/records.tsx'

const statuses: readonly WithdrawalStatusCode[] = [
  'PENDING_APPROVAL',
  'PROCESSING',
  'COMPLETED',
  'RETURNED',
  'FAILED',
  'REJECTED',
  'CANCELLED',
]

/** Withdrawals of all workspaces. Those that need an approval come first. */
export default function Withdrawals() {
  const filter = useQueueFilter(statuses, ['PENDING_APPROVAL', 'PROCESSING'])
  const { status, ...others } = filter
  return (
    <Page title={t('queues.withdrawals')}>
      <QueueFilters statuses={statuses} />
      <ListQuery
        queryKey={['withdrawals', filter]}
        read={(before) => client.call(listAllWithdrawals, { query: { ...others, withdrawalStatus: status, before } })}
        empty={t('queues.noWithdrawals')}
      >
        {(withdrawals) => <WithdrawalTable withdrawals={withdrawals} />}
      </ListQuery>
    </Page>
  )
}

function WithdrawalTable({ withdrawals }: { withdrawals: readonly AnyWithdrawal[] }) {
  return (
    <Table
      label={t('queues.withdrawals')}
      items={withdrawals}
      keyOf={({ bizId }) => bizId}
      columns={[
        {
          title: t('queues.orderNo'),
          cell: ({ bizId, orderNo }) => <Link href={`/queues/withdrawals/${bizId}`}>{orderNo}</Link>,
        },
        ageColumn,
        workspaceColumn,
        { title: t('queues.status'), cell: ({ withdrawalStatus }) => <StatusBadge status={withdrawalStatus} /> },
        amountColumn,
      ]}
    />
  )
}
