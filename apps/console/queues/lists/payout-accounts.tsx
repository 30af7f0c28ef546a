import { type AllWithdrawalChannel, listAllWithdrawalChannels, type WithdrawalChannelStatusCode } from 'portal-client'
import { Link } from 'wouter'
import { client } from '../../../kit/client.ts'
import { t } from '../../../kit/i18n.ts'
import { ListQuery, Table } from '../../../kit/list.tsx'
import { Page } from '../../../kit/page.tsx'
import { ageColumn, workspaceColumn } from '../parts/columns.tsx'
import { QueueFilters, useQueueFilter } from '../parts/filters.tsx'
import { StatusBadge } from '../parts/records.tsx'

const statuses: readonly WithdrawalChannelStatusCode[] = [
  'PENDING_VERIFICATION',
  'ACTIVE',
  'SUSPENDED',
  'DISABLED',
  'REJECTED',
]

/** Payout accounts of all workspaces. Those that need a verification come first. */
export default function PayoutAccounts() {
  const filter = useQueueFilter(statuses, ['PENDING_VERIFICATION'])
  const { status, ...others } = filter
  return (
    <Page title={t('queues.payoutAccounts')}>
      <QueueFilters statuses={statuses} />
      <ListQuery
        queryKey={['payout-accounts', filter]}
        read={(before) =>
          client.call(listAllWithdrawalChannels, { query: { ...others, channelStatus: status, before } })
        }
        empty={t('queues.noPayoutAccounts')}
      >
        {(accounts) => <AccountTable accounts={accounts} />}
      </ListQuery>
    </Page>
  )
}

function AccountTable({ accounts }: { accounts: readonly AllWithdrawalChannel[] }) {
  return (
    <Table
      label={t('queues.payoutAccounts')}
      items={accounts}
      keyOf={({ bizId }) => bizId}
      columns={[
        {
          title: t('queues.accountNumber'),
          cell: ({ bizId, maskedAccount }) => <Link href={`/queues/payout-accounts/${bizId}`}>{maskedAccount}</Link>,
        },
        { title: t('queues.accountHolder'), cell: ({ accountHolderName }) => accountHolderName },
        ageColumn,
        workspaceColumn,
        { title: t('queues.channelType'), cell: ({ channelType }) => channelType.label },
        { title: t('queues.currency'), cell: ({ currency }) => currency },
        { title: t('queues.status'), cell: ({ channelStatus }) => <StatusBadge status={channelStatus} /> },
      ]}
    />
  )
}
