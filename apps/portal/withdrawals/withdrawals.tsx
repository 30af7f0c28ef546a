import { listWithdrawals } from 'portal-client'
import { withdrawalStatusCodes } from 'portico-client/forms'
import { Link } from 'wouter'
import { client } from '../../kit/client.ts'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, Table } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { Time } from '../../kit/time.tsx'
import {
  Filters,
  InputFilter,
  IntervalFilter,
  StatusFilter,
  useFilter,
  useInterval,
  WalletFilter,
} from '../orders/filters.tsx'
import { StatusBadge } from '../orders/status.tsx'
import { WalletName } from '../orders/wallets.tsx'
import { Permitted } from '../permissions/permissions.tsx'
import { useWorkspace } from '../workspace.tsx'

/** The payouts of the workspace. */
export default function Withdrawals() {
  return (
    <Page title={t('withdrawals.title')} actions={<NewWithdrawal />}>
      <Filters>
        <StatusFilter codes={withdrawalStatusCodes} />
        <WalletFilter />
        <IntervalFilter />
        <InputFilter name="order" label={t('orders.orderNo')} type="search" />
      </Filters>
      <List />
    </Page>
  )
}

function NewWithdrawal() {
  return (
    <Permitted permission="withdrawal:create">
      <Link className="button primary" href="/withdrawals/new">
        {t('withdrawals.new')}
      </Link>
    </Permitted>
  )
}

function List() {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const { startTime, endTime } = useInterval()
  const [status] = useFilter('status')
  const [walletId] = useFilter('wallet')
  const [orderNo] = useFilter('order')
  const withdrawalStatus = withdrawalStatusCodes.find((code) => code === status)
  const filter = { withdrawalStatus, walletId, startTime, endTime, orderNo }
  return (
    <ListQuery
      queryKey={['withdrawals', workspaceId, filter]}
      read={(before) => client.call(listWithdrawals, { workspaceId, query: { before, ...filter } })}
      empty={t('withdrawals.empty')}
    >
      {(withdrawals) => (
        <Table
          label={t('withdrawals.title')}
          items={withdrawals}
          keyOf={({ bizId }) => bizId}
          columns={[
            {
              title: t('orders.orderNo'),
              cell: ({ bizId, orderNo: name }) => <Link href={`/withdrawals/${bizId}`}>{name}</Link>,
            },
            { title: t('orders.created'), cell: ({ createdAt }) => <Time at={createdAt} /> },
            { title: t('orders.wallet'), cell: ({ walletBizId }) => <WalletName id={walletBizId} /> },
            { title: t('orders.status'), cell: (withdrawal) => <StatusBadge status={withdrawal.withdrawalStatus} /> },
            { title: t('orders.amount'), align: 'end', cell: ({ amount, currency }) => formatMoney(amount, currency) },
            {
              title: t('withdrawals.paidOut'),
              align: 'end',
              cell: ({ netAmount, currency }) => formatMoney(netAmount, currency),
            },
          ]}
        />
      )}
    </ListQuery>
  )
}
