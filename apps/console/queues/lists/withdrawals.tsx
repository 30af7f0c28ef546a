import { type AnyWithdrawal, listAllWithdrawals, type WithdrawalStatusCode } from 'portal-client'
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
      <Filters statuses={statuses} filter={filter} />
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
        { title: t('queues.status'), cell: ({ withdrawalStatus }) => <StatusBadge status={withdrawalStatus} /> },
        { title: t('queues.amount'), align: 'end', cell: ({ amount, currency }) => formatMoney(amount, currency) },
      ]}
    />
  )
}
