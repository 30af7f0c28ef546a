import { type AnyRecharge, listAllRecharges, type RechargeStatusCode } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../../kit/client.ts'
import { t } from '../../../kit/i18n.ts'
import { ListQuery, Table } from '../../../kit/list.tsx'
import { Page } from '../../../kit/page.tsx'
import { ageColumn, amountColumn, workspaceColumn } from '../parts/columns.tsx'
import { QueueFilters, useQueueFilter } from '../parts/filters.tsx'
import { StatusBadge } from '../parts/records.tsx'

const statuses: readonly RechargeStatusCode[] = [
  'PROOF_SUBMITTED',
  'PENDING_PAYMENT',
  'COMPLETED',
  'REJECTED',
  'CANCELLED',
  'EXPIRED',
]

/** Recharges of all workspaces. Those with a proof come first. */
export default function Recharges() {
  const filter = useQueueFilter(statuses, ['PROOF_SUBMITTED', 'PENDING_PAYMENT'])
  const { status, ...others } = filter
  return (
    <Page title={t('queues.recharges')}>
      <QueueFilters statuses={statuses} />
      <ListQuery
        queryKey={['recharges', filter]}
        read={(before) => client.call(listAllRecharges, { query: { ...others, rechargeStatus: status, before } })}
        empty={t('queues.noRecharges')}
      >
        {(recharges) => <RechargeTable recharges={recharges} />}
      </ListQuery>
    </Page>
  )
}

function RechargeTable({ recharges }: { recharges: readonly AnyRecharge[] }) {
  return (
    <Table
      label={t('queues.recharges')}
      items={recharges}
      keyOf={({ bizId }) => bizId}
      columns={[
        {
          title: t('queues.orderNo'),
          cell: ({ bizId, orderNo }) => <Link href={`/queues/recharges/${bizId}`}>{orderNo}</Link>,
        },
        ageColumn,
        workspaceColumn,
        { title: t('queues.channel'), cell: ({ channelCode }) => channelCode },
        { title: t('queues.status'), cell: ({ rechargeStatus }) => <StatusBadge status={rechargeStatus} /> },
        amountColumn,
      ]}
    />
  )
}
