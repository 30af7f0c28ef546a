import { listWithdrawals } from 'portal-client'
import { withdrawalStatusCodes } from 'portico-client/forms'
import { client } from '../../kit/client.ts'
import { useChoice, useFilter } from '../../kit/filters.tsx'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, useEmpty } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { OrderFilters, useInterval } from '../orders/filters.tsx'
import { amountColumn, NewOrder, OrderTable } from '../orders/list.tsx'
import { StatusBadge } from '../orders/status.tsx'
import { WalletName } from '../orders/wallets.tsx'
import { useWorkspace } from '../workspace.tsx'

/** The payouts of the workspace. */
export default function Withdrawals() {
  return (
    <Page
      title={t('withdrawals.title')}
      actions={<NewOrder href="/withdrawals/new" permission="withdrawal:create" label={t('withdrawals.new')} />}
    >
      <OrderFilters statuses={withdrawalStatusCodes} />
      <List />
    </Page>
  )
}

function List() {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const withdrawalStatus = useChoice('status', withdrawalStatusCodes)
  const [walletId] = useFilter('wallet')
  const [orderNo] = useFilter('order')
  const filter = { ...useInterval(), withdrawalStatus, walletId, orderNo }
  return (
    <ListQuery
      queryKey={['withdrawals', workspaceId, filter]}
      read={(before) => client.call(listWithdrawals, { workspaceId, query: { before, ...filter } })}
      empty={useEmpty(t('withdrawals.empty'))}
    >
      {(withdrawals) => (
        <OrderTable
          label={t('withdrawals.title')}
          orders={withdrawals}
          path="/withdrawals"
          columns={[
            { title: t('orders.wallet'), cell: ({ walletBizId }) => <WalletName id={walletBizId} /> },
            { title: t('orders.status'), cell: ({ withdrawalStatus: status }) => <StatusBadge status={status} /> },
            amountColumn,
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
