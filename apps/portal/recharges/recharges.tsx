import { listRecharges } from 'portal-client'
import { rechargeStatusCodes } from 'portico-client/forms'
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

/** The incoming payments of the workspace. */
export default function Recharges() {
  return (
    <Page
      title={t('recharges.title')}
      actions={<NewOrder href="/recharges/new" permission="recharge:create" label={t('recharges.new')} />}
    >
      <OrderFilters statuses={rechargeStatusCodes} />
      <List />
    </Page>
  )
}

function List() {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const rechargeStatus = useChoice('status', rechargeStatusCodes)
  const [walletId] = useFilter('wallet')
  const [orderNo] = useFilter('order')
  const filter = { ...useInterval(), rechargeStatus, walletId, orderNo }
  return (
    <ListQuery
      queryKey={['recharges', workspaceId, filter]}
      read={(before) => client.call(listRecharges, { workspaceId, query: { before, ...filter } })}
      empty={useEmpty(t('recharges.empty'))}
    >
      {(recharges) => (
        <OrderTable
          label={t('recharges.title')}
          orders={recharges}
          path="/recharges"
          columns={[
            { title: t('orders.wallet'), cell: ({ walletBizId }) => <WalletName id={walletBizId} /> },
            { title: t('orders.status'), cell: ({ rechargeStatus: status }) => <StatusBadge status={status} /> },
            amountColumn,
            {
              title: t('recharges.credited'),
              align: 'end',
              cell: ({ netAmount, currency }) => formatMoney(netAmount, currency),
            },
          ]}
        />
      )}
    </ListQuery>
  )
}
