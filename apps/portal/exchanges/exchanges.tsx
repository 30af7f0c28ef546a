import { listExchanges } from 'portal-client'
import { exchangeStatusCodes } from 'portico-client/forms'
import { client } from '../../kit/client.ts'
import { useChoice, useFilter } from '../../kit/filters.tsx'
import { formatMoney } from '../../kit/format.ts'
import { t } from '../../kit/i18n.ts'
import { ListQuery, useEmpty } from '../../kit/list.tsx'
import { Page } from '../../kit/page.tsx'
import { OrderFilters, useInterval } from '../orders/filters.tsx'
import { NewOrder, OrderTable } from '../orders/list.tsx'
import { StatusBadge } from '../orders/status.tsx'
import { useWorkspace } from '../workspace.tsx'

/** The exchanges of the workspace. */
export default function Exchanges() {
  return (
    <Page
      title={t('exchanges.title')}
      actions={<NewOrder href="/exchanges/new" permission="exchange:create" label={t('exchanges.new')} />}
    >
      <OrderFilters statuses={exchangeStatusCodes} hasWallets={false} />
      <List />
    </Page>
  )
}

function List() {
  const workspaceId = useWorkspace().workspace.workspaceBizId
  const exchangeStatus = useChoice('status', exchangeStatusCodes)
  const [orderNo] = useFilter('order')
  const filter = { ...useInterval(), exchangeStatus, orderNo }
  return (
    <ListQuery
      queryKey={['exchanges', workspaceId, filter]}
      read={(before) => client.call(listExchanges, { workspaceId, query: { before, ...filter } })}
      empty={useEmpty(t('exchanges.empty'))}
    >
      {(exchanges) => (
        <OrderTable
          label={t('exchanges.title')}
          orders={exchanges}
          path="/exchanges"
          columns={[
            { title: t('orders.status'), cell: ({ exchangeStatus: status }) => <StatusBadge status={status} /> },
            {
              title: t('exchanges.sold'),
              align: 'end',
              cell: ({ sourceAmount, sourceCurrency }) => formatMoney(sourceAmount, sourceCurrency),
            },
            {
              title: t('exchanges.bought'),
              align: 'end',
              cell: ({ targetAmount, targetCurrency }) => formatMoney(targetAmount, targetCurrency),
            },
          ]}
        />
      )}
    </ListQuery>
  )
}
